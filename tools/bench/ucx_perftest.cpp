#include "bench/ucx_perftest.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

#include "bench/sampler.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kStart = 10 * kSecond;
constexpr Nanoseconds kMargin = 8 * kSecond;  // for it to connect, and to warm up
constexpr std::size_t kFigures = 8;

// A port that is free now.
std::uint16_t free_port() {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), generic, length) != 0 || getsockname(listener.get(), generic, &length) != 0) return 13337;
  return ntohs(address.sin_port);
}

Result<std::vector<double>> run(Bench& bench, const std::string& test, std::uint32_t bytes, std::uint64_t iterations,
                                Nanoseconds length) {
  const auto program = find_in_path("ucx_perftest");
  if (program.empty()) return not_installed("ucx_perftest", "ucx-utils");
  const auto folder = bench.folder();
  if (!folder) return folder.error();
  // As daemon/transport/ucx sets it up.
  const std::vector<std::string> prefix{"/usr/bin/env",
                                        "UCX_TLS=tcp,self",
                                        "UCX_NET_DEVICES=lo",
                                        "UCX_TCP_TX_SEG_SIZE=64K",
                                        "UCX_TCP_RX_SEG_SIZE=256K",
                                        "UCX_WARN_UNUSED_ENV_VARS=n",
                                        "stdbuf",
                                        "-oL",  // so that we see that it waits
                                        program,
                                        "-p",
                                        std::to_string(free_port())};
  auto server = prefix, client = prefix;
  server.insert(server.end(), {"-c", std::to_string(bench.placement().engine)});
  client.insert(client.end(),
                {"-c", std::to_string(bench.placement().client), "-t", test, "-s", std::to_string(bytes), "-n",
                 std::to_string(iterations), "-w", std::to_string(iterations / 16 + 1), "-v", "127.0.0.1"});
  const std::string log = *folder + "/ucx_perftest.log";
  auto listening = Child::start(std::move(server), log);
  if (!listening) return listening.error();
  if (auto ready = (*listening)->wait_for_line("Waiting for connection", kStart); !ready) {
    return Error{Status::not_supported, "no reference: ucx_perftest does not listen: " + ready.error().text};
  }
  auto running = Child::start(std::move(client), log);
  if (!running) return running.error();
  // It counts iterations, not seconds: beside other programs both sides wait for a processor in each of them. What it
  // has printed until then, a line each second, counts as well.
  const auto ended = (*running)->wait_for_end(length + kMargin);
  if (ended && ended->code != 0) {
    return Error{Status::operation_failed, "ucx_perftest exited with " + std::to_string(ended->code) +
                                               "; its log ends in:\n" + end_of_file(log) +
                                               ended->output.substr(0, 1'000)};
  }
  auto found = perftest_figures(ended ? ended->output : (*running)->printed());
  if (found.empty()) {
    return Error{Status::not_supported, "no reference: ucx_perftest printed no figure within " +
                                            std::to_string((length + kMargin) / kSecond) +
                                            " s; are the processors busy?"};
  }
  return found;
}

// As many as take about `length` at a pace that was measured over a few.
Result<std::vector<double>> run_for(Bench& bench, const std::string& test, std::uint32_t bytes, Nanoseconds length,
                                    std::uint64_t few, double a_second) {
  const auto pace = static_cast<std::uint64_t>(a_second * static_cast<double>(length) / 1e9);
  return run(bench, test, bytes, std::max(few, pace), length);
}

}  // namespace

std::vector<double> perftest_figures(const std::string& output) {
  std::vector<double> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    // "[thread 0]    1044,12.072,…" while it runs.
    const auto thread = line.find(']');
    std::istringstream fields(thread == std::string::npos ? line : line.substr(thread + 1));
    std::vector<double> found;
    for (std::string field; std::getline(fields, field, ',');) {
      char* end = nullptr;
      const double value = std::strtod(field.c_str(), &end);
      if (end != field.c_str()) found.push_back(value);
    }
    if (found.size() == kFigures) all = std::move(found);
  }
  return all;
}

Result<double> ucx_am_bandwidth(Bench& bench, std::uint32_t bytes, Nanoseconds length) {
  constexpr double kBytesASecond = 3e9;
  const auto found = run_for(bench, "ucp_am_bw", bytes, length, 64, kBytesASecond / bytes);
  if (!found) return found.error();
  return (*found)[5];
}

Result<double> ucx_am_latency(Bench& bench, std::uint32_t bytes, Nanoseconds length) {
  const auto found = run_for(bench, "ucp_am_lat", bytes, length, 1'000, 60'000);
  if (!found) return found.error();
  return (*found)[1];
}

}  // namespace rde::tools
