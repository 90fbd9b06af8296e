#include "dump/target.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "attach/client.h"
#include "dump/process.h"

namespace rde::tools {
namespace {

Result<Segments> find_in_socket(const std::string& path, std::optional<std::uint64_t> wanted) {
  Segments found{.kind = TargetKind::socket, .sources = {}, .notes = {}};
  const auto clients = list_clients(path);
  if (!clients) return clients.error().in("list the clients of " + path);
  for (const auto& client : *clients) {
    if (wanted && client.number != *wanted) continue;
    const std::string label = "client " + std::to_string(client.number) + " '" + client.name + "', pid " +
                              std::to_string(client.pid) + ", uid " + std::to_string(client.uid);
    auto file = monitor_client(path, client.number);
    if (file) {
      found.sources.push_back(
          {.file = std::move(*file), .base = 0, .size = std::nullopt, .live = true, .label = label});
    } else {
      found.notes.push_back(label + ": " + file.error().text);
    }
  }
  return found;
}

Result<Segments> find_in_file(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return system_error("open '" + path + "'", errno);
  Segments found{.kind = TargetKind::file, .sources = {}, .notes = {}};
  found.sources.push_back(
      {.file = std::move(file), .base = 0, .size = std::nullopt, .live = false, .label = "file " + path});
  return found;
}

Result<Segments> find_in_pid(const std::string& text) {
  std::uint32_t pid = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (code != std::errc() || end != text.data() + text.size() || pid == 0 || pid > 0x7FFFFFFF) {
    return Error{Status::invalid_request, "TARGET '" + text + "' is not a process id; for a file write ./" + text};
  }
  auto in_process = find_in_process(pid);
  if (!in_process) return in_process.error();
  return Segments{
      .kind = TargetKind::process, .sources = std::move(in_process->sources), .notes = std::move(in_process->notes)};
}

}  // namespace

std::string_view name_of(TargetKind kind) {
  switch (kind) {
    case TargetKind::socket:
      return "socket";
    case TargetKind::process:
      return "process";
    case TargetKind::file:
      return "file";
  }
  return "file";
}

Result<Segments> find_segments(const std::string& target, std::optional<std::uint64_t> client) {
  if (!target.empty() && std::ranges::all_of(target, [](char c) { return c >= '0' && c <= '9'; })) {
    return find_in_pid(target);
  }
  struct stat status {};
  if (stat(target.c_str(), &status) != 0) {
    return system_error("TARGET '" + target + "' (give an attach socket, a process id or a saved segment)", errno);
  }
  if (S_ISSOCK(status.st_mode)) return find_in_socket(target, client);
  if (S_ISREG(status.st_mode)) return find_in_file(target);
  return Error{Status::invalid_request,
               "TARGET '" + target + "' is neither a socket, nor a process id, nor a regular file"};
}

}  // namespace rde::tools
