#include "attach/listener.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "attach/client.h"
#include "prim/socket.h"
#include "support/leaks.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

Result<AttachListener> open_at(const std::string& path, mode_t mode = 0660) {
  return AttachListener::open({.path = path, .mode = mode, .group = std::nullopt});
}

struct stat stat_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Refused, with all of `words` in the reason.
void check_refused(const std::string& path, const std::vector<std::string>& words) {
  const auto listener = open_at(path);
  REQUIRE_FALSE(listener);
  for (const auto& word : words) {
    CHECK_MESSAGE(listener.error().text.find(word) != std::string::npos, listener.error().text);
  }
}

Descriptor listen_on(const std::string& path, int type) {
  Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  if (type != SOCK_DGRAM) REQUIRE(::listen(socket.get(), 0) == 0);
  return socket;
}

}  // namespace

TEST_CASE("a path that no socket can have is refused with its length") {
  const TemporaryFolder folder;
  check_refused("", {"0 bytes"});
  check_refused(folder.file(std::string(108 - folder.path().native().size() - 1, 'x')), {"108 bytes", "107"});
  CHECK(open_at(folder.file(std::string(107 - folder.path().native().size() - 1, 'x'))));
}

TEST_CASE("what is there and is no socket stays") {
  const TemporaryFolder folder;
  const auto file = folder.file("file");
  std::ofstream(file) << "precious";
  check_refused(file, {file, "not a socket"});
  CHECK(stat_of(file).st_size == 8);

  const auto link = folder.file("link");
  REQUIRE(::symlink(file.c_str(), link.c_str()) == 0);
  check_refused(link, {link, "symbolic link"});
  CHECK(S_ISLNK(stat_of(link).st_mode));

  const auto directory = folder.file("directory");
  REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  check_refused(directory, {directory});
  CHECK(S_ISDIR(stat_of(directory).st_mode));
}

TEST_CASE("a live engine is never displaced") {
  const TemporaryFolder folder;
  const auto path = folder.file("socket");
  const auto first = open_at(path);
  REQUIRE(first);
  check_refused(path, {path, "another engine holds"});
  CHECK(prim::is_listening(path));
  // Neither is one that keeps no lock, nor one whose queue is full.
  const auto other = folder.file("other");
  const auto listening = listen_on(other, SOCK_SEQPACKET);
  check_refused(other, {other, "another process is listening"});
  check_refused(other, {other, "another process is listening"});
}

TEST_CASE("a socket of another kind that somebody uses stays") {
  const TemporaryFolder folder;
  for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
    const auto path = folder.file("kind" + std::to_string(type));
    const auto used = listen_on(path, type);
    check_refused(path, {path, "another process is listening"});
    CHECK(exists(path));
  }
}

TEST_CASE("the socket of an engine that was killed is taken over") {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  const auto path = folder.file("socket");
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto listener = open_at(path);
    (void)!::write(ready[1], listener ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  CHECK_FALSE(open_at(path));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(exists(path));
  const auto listener = open_at(path);
  CHECK_MESSAGE(listener, listener.error().text);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a folder in which others could replace the socket is refused and left as it is") {
  const TemporaryFolder folder;
  const auto open_to_all = folder.file("folder");
  REQUIRE(::mkdir(open_to_all.c_str(), 0700) == 0);
  REQUIRE(::chmod(open_to_all.c_str(), 0777) == 0);
  check_refused(open_to_all + "/socket", {open_to_all, "0777", "sticky"});
  CHECK((stat_of(open_to_all).st_mode & 07777U) == 0777);
  REQUIRE(::chmod(open_to_all.c_str(), 01777) == 0);
  CHECK(open_at(open_to_all + "/socket"));
}

TEST_CASE("a folder that is missing, or none, is refused by name") {
  const TemporaryFolder folder;
  check_refused(folder.file("missing/socket"), {folder.file("missing"), "No such file"});
  std::ofstream(folder.file("file")) << "x";
  check_refused(folder.file("file/socket"), {folder.file("file")});
}

TEST_CASE("a folder of another user is refused with both uids") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a folder away");
    return;
  }
  const TemporaryFolder folder;
  const auto foreign = folder.file("foreign");
  REQUIRE(::mkdir(foreign.c_str(), 0755) == 0);
  REQUIRE(::chown(foreign.c_str(), 12345, 12345) == 0);
  check_refused(foreign + "/socket", {"uid 12345", "0755", "uid 0"});
}

TEST_CASE("the mode is the one asked for, whatever the umask, which stays") {
  const TemporaryFolder folder;
  for (const mode_t mask : {0000U, 0022U, 0077U}) {
    for (const mode_t mode : {0600U, 0660U, 0666U}) {
      CAPTURE(mask);
      CAPTURE(mode);
      const mode_t before = ::umask(mask);
      {
        const auto listener = open_at(folder.file("socket"), mode);
        REQUIRE(listener);
        CHECK((stat_of(folder.file("socket")).st_mode & 0777U) == mode);
      }
      CHECK(::umask(before) == mask);
    }
  }
}

TEST_CASE("the socket belongs to the group asked for") {
  const TemporaryFolder folder;
  const gid_t group = ::geteuid() == 0 ? 12345 : ::getegid();
  const auto listener = AttachListener::open({.path = folder.file("socket"), .mode = 0660, .group = group});
  REQUIRE(listener);
  CHECK(stat_of(folder.file("socket")).st_gid == group);
}

TEST_CASE("a group that cannot be given is an error that leaves no socket") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root can give every group");
    return;
  }
  const TemporaryFolder folder;
  CHECK_FALSE(AttachListener::open({.path = folder.file("socket"), .mode = 0660, .group = 0}));
  CHECK_FALSE(exists(folder.file("socket")));
}

TEST_CASE("a lock file that is a link is refused") {
  const TemporaryFolder folder;
  const auto victim = folder.file("victim");
  std::ofstream(victim) << "x";
  REQUIRE(::symlink(victim.c_str(), folder.file("socket.lock").c_str()) == 0);
  check_refused(folder.file("socket"), {folder.file("socket.lock")});
}

TEST_CASE("a listener removes its own socket, and nobody else's") {
  const TemporaryFolder folder;
  const auto path = folder.file("socket");
  {
    auto listener = open_at(path);
    REQUIRE(listener);
    const AttachListener moved(std::move(*listener));
    CHECK(exists(path));
  }
  CHECK_FALSE(exists(path));
  {
    const auto listener = open_at(path);
    REQUIRE(listener);
    REQUIRE(::unlink(path.c_str()) == 0);
    std::ofstream(path) << "somebody else's";
  }
  CHECK(exists(path));
}

TEST_CASE("accepted connections do not block and are not inherited") {
  const TemporaryFolder folder;
  auto listener = open_at(folder.file("socket"));
  REQUIRE(listener);
  CHECK_FALSE(listener->accept());
  const auto client = prim::connect_seqpacket(folder.file("socket"), kSecond);
  REQUIRE(client);
  const auto accepted = listener->accept();
  REQUIRE(accepted);
  CHECK((fcntl(accepted.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((fcntl(accepted.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(client->get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a process without descriptors sheds connections instead of spinning") {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  auto listener = open_at(folder.file("socket"));
  REQUIRE(listener);
  const auto client = prim::connect_seqpacket(folder.file("socket"), kSecond);
  REQUIRE(client);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  // Every descriptor below the limit is in use.
  std::vector<Descriptor> fillers;
  int lowest = 0;
  do {
    fillers.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    lowest = fillers.back().get();
  } while (lowest < listener->descriptor() || lowest < client->get());
  const rlimit tight{static_cast<rlim_t>(lowest) + 1, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
  const auto accepted = listener->accept();
  const auto still_waiting = prim::wait_readable(listener->descriptor(), 0);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK_FALSE(accepted);
  REQUIRE(still_waiting);
  CHECK_FALSE(*still_waiting);
  std::byte nothing[8];
  CHECK(prim::receive(client->get(), nothing)->bytes == 0);  // closed, not left waiting
}

TEST_CASE("an attach to an engine that stopped accepting ends") {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  const auto path = folder.file("socket");
  const auto frozen = listen_on(path, SOCK_SEQPACKET);  // a queue of one
  const auto first = prim::connect_seqpacket(path, kSecond);
  REQUIRE(first);
  const auto attached = attach({.socket = path, .timeout = 50 * kMillisecond});
  REQUIRE_FALSE(attached);
  CHECK(attached.error().status == Status::segment_not_ready);
  const auto listening = prim::is_listening(path);
  REQUIRE(listening);
  CHECK(*listening);
}

TEST_CASE("opening and closing a listener leaves no descriptor behind") {
  const TemporaryFolder folder;
  const auto before = open_descriptors();
  for (unsigned i = 0; i < 20; ++i) CHECK(open_at(folder.file("socket")));
  std::ofstream(folder.file("file")) << "x";
  for (unsigned i = 0; i < 20; ++i) CHECK_FALSE(open_at(folder.file("file")));
  CHECK(open_descriptors() == before);
}

}  // namespace rde::test
