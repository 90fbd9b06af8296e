// How long uses of memory on another engine take: for comparison with perftest's ib_write_lat and ib_read_bw, which
// checks.sh runs beside it.
//
//   verbs_pace OWNER_SOCKET USER_SOCKET PEER VID,FID LENGTH SECONDS
//
// A client of the engine at OWNER_SOCKET exposes memory; one of the engine at USER_SOCKET, which reaches the first
// engine as PEER (HOST:PORT), writes 8 bytes there again and again, and then reads LENGTH bytes of an object, four
// reads at once. Prints {"write_8_us":MEDIAN,"read_mib_s":MEAN}. Exit codes: 0 measured, 1 something failed, 2 usage.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "client/client.h"
#include "client/region.h"
#include "seaweed/file_id.h"

using namespace rde;

namespace {

constexpr std::uint32_t kReads = 4;  // at once
constexpr std::uint32_t kWrite = 8;

[[noreturn]] void fail(const char* what, const Error& error) {
  std::fprintf(stderr, "verbs_pace: %s: %s\n", what, error.text.c_str());
  std::exit(1);
}

template <class T>
T must(const char* what, Result<T> result) {
  if (!result) fail(what, result.error());
  return std::move(*result);
}

std::uint64_t ask(const char* what, Client& client, const rde_request& request) {
  const auto answer = client.call(client.channel(0), request, 0);
  if (!answer) fail(what, answer.error());
  if (answer->status != Status::ok) fail(what, {answer->status, std::string(name_of(answer->status))});
  return answer->value;
}

Buffer allocate(Client& client, std::uint64_t length) {
  const auto buffer = client.allocate(length);
  if (!buffer) fail("buffer", {Status::out_of_buffers, "none of " + std::to_string(length) + " bytes"});
  return *buffer;
}

std::unique_ptr<Client> attach(const char* socket) {
  return must("attach", Client::attach({.socket = socket,
                                        .name = "verbs-pace",
                                        .segment_size = std::uint64_t{8} << 20,
                                        .channels = 1,
                                        .depth = 32}));
}

// Microseconds, the median.
double write_latency(Client& client, std::uint64_t region, Nanoseconds time) {
  const Buffer from = allocate(client, kWrite);
  const auto request = region_write_request(region, 0, {from.page, from.bytes.first(kWrite)});
  std::vector<double> samples;
  for (const Nanoseconds end = now_ns() + time; now_ns() < end;) {
    const Nanoseconds start = now_ns();
    ask("REGION_WRITE", client, request);
    samples.push_back(static_cast<double>(now_ns() - start) / kMicrosecond);
  }
  std::ranges::sort(samples);
  return samples[samples.size() / 2];
}

// MiB a second.
double read_pace(Client& client, std::uint64_t peer, const FileId& object, std::uint32_t length, Nanoseconds time) {
  Channel& channel = client.channel(0);
  std::vector<rde_request> requests;
  for (std::uint32_t i = 0; i < kReads; ++i) {
    auto request = request_with(
        RDE_OP_OBJECT_READ, peer,
        rde_object_args{.needle = object.key, .volume = object.volume, .cookie = object.cookie, .offset = 0});
    request.buffer_page = allocate(client, length).page;
    request.length = length;
    requests.push_back(request);
    must("OBJECT_READ", channel.submit(request, i));
  }
  std::uint64_t bytes = 0;
  const Nanoseconds start = now_ns();
  Nanoseconds now = start;
  for (std::uint32_t under_way = kReads; under_way != 0;) {
    if (client.wait(channel, now_ns() + kSecond) == Waiter::Outcome::engine_gone)
      fail("OBJECT_READ", {Status::engine_gone, "the engine ended"});
    Reaped reaped;
    while (channel.reap(reaped)) {
      if (reaped.status != Status::ok) fail("OBJECT_READ", {reaped.status, std::string(name_of(reaped.status))});
      bytes += reaped.bytes;
      now = now_ns();
      if (now - start < time) {
        must("OBJECT_READ", channel.submit(requests[reaped.user], reaped.user));
      } else {
        --under_way;
      }
    }
  }
  return static_cast<double>(bytes) / (1 << 20) * 1e9 / static_cast<double>(now - start);
}

void measure(char** arguments) {
  const auto object = must("object", parse_file_id(arguments[4]));
  const auto length = static_cast<std::uint32_t>(std::atoi(arguments[5]));
  const Nanoseconds time = std::atoi(arguments[6]) * kSecond;
  const auto owner = attach(arguments[1]);
  const auto user = attach(arguments[2]);

  const Buffer token = allocate(*owner, sizeof(rde_region_token));
  const Buffer part = allocate(*owner, 4096);
  const RegionPart exposed{.offset = arena_offset(part), .length = 4096, .rights = RDE_REGION_RIGHT_WRITE};
  ask("REGION_EXPOSE", *owner, expose_request(token, exposed));

  const std::string_view address(arguments[3]);
  const Buffer text = allocate(*user, 4096);
  std::memcpy(text.bytes.data(), address.data(), std::min(address.size(), text.bytes.size()));
  const auto peer =
      ask("CONNECT", *user,
          {.op = RDE_OP_CONNECT, .buffer_page = text.page, .length = static_cast<std::uint32_t>(address.size())});
  std::memcpy(text.bytes.data(), token.bytes.data(), sizeof(rde_region_token));
  const auto region = ask("REGION_OPEN", *user, open_region_request(text, peer));

  const double latency = write_latency(*user, region, time);
  const double pace = read_pace(*user, peer, object, length, time);
  std::puts(nlohmann::json{{"write_8_us", latency}, {"read_mib_s", pace}}.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fputs("usage: verbs_pace OWNER_SOCKET USER_SOCKET PEER VID,FID LENGTH SECONDS\n", stderr);
    return 2;
  }
  measure(argv);
  return 0;
}
