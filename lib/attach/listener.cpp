#include "attach/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "prim/socket.h"

namespace rde {
namespace {

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode & 07777U);
  return text;
}

Error refuse(const std::string& path, const std::string& why) {
  return {Status::invalid_request, "socket path '" + path + "': " + why};
}

// Others must not be able to put a socket of their own in our place.
Result<void> check_directory(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) {
    return Error{Status::system_error, "socket path '" + path + "': directory " + directory + ": " +
                                           std::strerror(errno) +
                                           "; make it first (mode 0750, owned by the engine's user)"};
  }
  if (!S_ISDIR(status.st_mode)) return refuse(path, directory + " is not a directory");
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return refuse(path, "directory " + directory + " belongs to uid " + std::to_string(status.st_uid) + ", mode " +
                            octal(status.st_mode) + "; the engine runs as uid " + std::to_string(geteuid()) +
                            " and wants a directory of its own or of root");
  }
  if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return refuse(path, "directory " + directory + " is writable for everybody (mode " + octal(status.st_mode) +
                            ") without the sticky bit; use a directory of mode 0755 or less");
  }
  return {};
}

// Removes a dead engine's socket: one that nobody listens on. Anything else stays.
Result<void> clear_stale(const std::string& path, const std::string& option) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISSOCK(status.st_mode)) {
    return refuse(path, std::string(S_ISLNK(status.st_mode) ? "a symbolic link" : "a file that is not a socket") +
                            " is there already; remove it or choose another " + option);
  }
  const auto listening = prim::is_listening(path);
  if (!listening) {
    return refuse(path, "a socket is there already, and whether it is in use cannot be told: " +
                            listening.error().text + "; remove it or choose another " + option);
  }
  if (*listening) return refuse(path, "another process is listening there; choose another " + option);
  if (::unlink(path.c_str()) != 0) return system_error("remove the stale socket " + path, errno);
  return {};
}

Descriptor open_spare() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

AttachListener::AttachListener(std::string path, Descriptor socket, Descriptor lock, Descriptor spare, dev_t device,
                               ino_t inode)
    : path_(std::move(path)),
      socket_(std::move(socket)),
      lock_(std::move(lock)),
      spare_(std::move(spare)),
      device_(device),
      inode_(inode) {}

AttachListener::~AttachListener() {
  if (!socket_) return;
  struct stat status {};
  if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_)
    ::unlink(path_.c_str());
}

Result<AttachListener> AttachListener::open(const ListenerOptions& options) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto& path = options.path;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return refuse(path, std::to_string(path.size()) + " bytes long; a Unix socket takes 1 to " +
                            std::to_string(sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (auto checked = check_directory(path); !checked) return checked.error();

  // The kernel drops this lock with its holder, so two starting engines cannot both find the socket stale.
  const std::string lock_path = path + ".lock";
  Descriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) return system_error("open " + lock_path, errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return refuse(path, "another engine holds " + lock_path + "; stop it or choose another " + options.option);
  }
  if (auto cleared = clear_stale(path, options.option); !cleared) return cleared.error();

  const int type = options.stream ? SOCK_STREAM : SOCK_SEQPACKET;
  Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("socket", errno);
  // The mode is right from the first moment: umask, not a chmod afterwards.
  const mode_t before = umask(static_cast<mode_t>(~options.mode & 0777U));
  const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int code = errno;
  umask(before);
  if (bound != 0) return system_error("bind " + path, code);
  struct stat made {};
  if (::lstat(path.c_str(), &made) != 0) return system_error("stat " + path, errno);
  AttachListener listener(path, std::move(socket), std::move(lock), open_spare(), made.st_dev, made.st_ino);
  if (options.group && ::lchown(path.c_str(), static_cast<uid_t>(-1), *options.group) != 0) {
    return system_error("give " + path + " to group " + std::to_string(*options.group), errno);
  }
  // Clients of a stream may connect for each question: whoever finds the queue full is turned away.
  if (::listen(listener.descriptor(), options.stream ? 1024 : 128) != 0)
    return system_error("listen on " + path, errno);
  return listener;
}

Descriptor AttachListener::accept() {
  if (!spare_) spare_ = open_spare();
  for (;;) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket || (errno != EMFILE && errno != ENFILE) || !spare_) return socket;
    spare_.reset();
    socket = Descriptor(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool shed = static_cast<bool>(socket);
    socket.reset();
    spare_ = open_spare();
    // The kernel says EMFILE for an empty queue too.
    if (!shed) return socket;
  }
}

}  // namespace rde
