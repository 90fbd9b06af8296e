// A client in a process of its own, for tests that kill, stop or fork it. Its commands, one a line on stdin, each
// answered by a line on stdout:
//
//   attach SOCKET        attached NUMBER
//   read COUNT           submitted COUNT          (nobody reaps)
//   nop                  STATUS
//   user UID GID         ok                       (for good)
//   list SOCKET          clients COUNT
//   monitor SOCKET N     mapped for reading | could write | refused TEXT
//   fork                 child PID                (the child holds everything and sleeps)
//   exit
#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iostream>
#include <sstream>

#include "client/client.h"

using namespace rde;

namespace {

std::unique_ptr<Client> client;

std::string attach_to(std::istream& words) {
  AttachOptions options;
  words >> options.socket;
  options.name = "helper";
  auto attached = Client::attach(options);
  if (!attached) return attached.error().text;
  client = std::move(*attached);
  return "attached " + std::to_string(client->attachment().client_number);
}

std::string read_some(std::istream& words) {
  unsigned count = 0;
  words >> count;
  for (unsigned i = 0; i < count; ++i) {
    const auto buffer = client->allocate(4096);
    rde_request request{};
    request.op = RDE_OP_OBJECT_READ;
    request.length = 4096;
    request.buffer_page = buffer ? buffer->page : 0;
    if (const auto tag = client->channel(0).submit(request); !tag) return tag.error().text;
  }
  return "submitted " + std::to_string(count);
}

std::string nop() {
  rde_request request{};
  request.op = RDE_OP_NOP;
  std::vector<Reaped> others;
  const auto answer = client->call(client->channel(0), request, now_ns() + 60 * kSecond, &others);
  return answer ? std::string(name_of(answer->status)) : answer.error().text;
}

std::string become(std::istream& words) {
  uid_t uid = 0;
  gid_t gid = 0;
  words >> uid >> gid;
  return setgroups(0, nullptr) == 0 && setgid(gid) == 0 && setuid(uid) == 0 ? "ok" : "not allowed";
}

std::string list(std::istream& words) {
  std::string socket;
  words >> socket;
  const auto clients = list_clients(socket);
  return clients ? "clients " + std::to_string(clients->size()) : clients.error().text;
}

std::string monitor(std::istream& words) {
  std::string socket;
  std::uint64_t number = 0;
  words >> socket >> number;
  const auto file = monitor_client(socket, number);
  if (!file) return "refused " + file.error().text;
  const std::size_t size = RDE_MIN_SEGMENT;
  const bool readable = mmap(nullptr, size, PROT_READ, MAP_SHARED, file->get(), 0) != MAP_FAILED;
  bool writable = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0) != MAP_FAILED;
  writable |= pwrite(file->get(), "x", 1, 0) == 1;
  writable |= fallocate(file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
  writable |= ftruncate(file->get(), 0) == 0;
  const int again = open(("/proc/self/fd/" + std::to_string(file->get())).c_str(), O_RDWR | O_CLOEXEC);
  if (again >= 0) {
    writable |= mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) != MAP_FAILED;
    writable |= pwrite(again, "x", 1, 0) == 1;
  }
  return writable ? "could write" : readable ? "mapped for reading" : "could not map";
}

std::string fork_child() {
  const pid_t child = fork();
  if (child == 0) {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    for (;;) pause();
  }
  return "child " + std::to_string(child);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "attach") {
      std::cout << attach_to(words);
    } else if (command == "read") {
      std::cout << read_some(words);
    } else if (command == "nop") {
      std::cout << nop();
    } else if (command == "user") {
      std::cout << become(words);
    } else if (command == "list") {
      std::cout << list(words);
    } else if (command == "monitor") {
      std::cout << monitor(words);
    } else if (command == "fork") {
      std::cout << fork_child();
    } else if (command == "exit") {
      return 0;
    }
    std::cout << std::endl;
  }
  return 0;
}
