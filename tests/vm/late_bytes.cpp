// Reads one object again and again while its storage host dies or freezes, and looks whether a byte lands in a buffer
// that was given back.
//
//   late_bytes SOCKET VID,FID LENGTH SECONDS DEADLINE_MS
//
// Prints `reading` once reads go well, and at the end one JSON object: when reads have failed, gone on, and been
// watched for a while, or after SECONDS. Exit codes: 0 all that happened, every read ended, and no byte came late; 1
// not so; 2 usage.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "client/client.h"
#include "seaweed/file_id.h"

using namespace rde;

namespace {

constexpr std::uint64_t kSegment = std::uint64_t{128} << 20;
constexpr std::uint32_t kInFlight = 4;
constexpr std::size_t kWatched = 16;
constexpr std::byte kMark{0xA5};

class Watch {
 public:
  Watch(Client& client, const FileId& object, std::uint32_t length, Nanoseconds patience)
      : client_(client), channel_(client.channel(0)), object_(object), length_(length), patience_(patience) {
    for (std::uint32_t i = 0; i < kInFlight; ++i) reads_.push_back({});
  }

  void run(Nanoseconds bound) {
    const Nanoseconds end = now_ns() + bound;
    while (now_ns() < end && !is_done()) {
      submit_idle();
      take_completions(std::min(end, now_ns() + 50 * kMillisecond));
    }
    while (flying_ != 0 && now_ns() < end + patience_ + 20 * kSecond) take_completions(now_ns() + 50 * kMillisecond);
  }

  [[nodiscard]] bool report() const {
    std::uint64_t dirty = 0;
    for (const auto& buffer : watched_) {
      dirty += static_cast<std::uint64_t>(std::ranges::count_if(buffer.bytes, [](std::byte b) { return b != kMark; }));
    }
    const nlohmann::json figures{
        {"ok", ok_},
        {"ok_after_failure", ok_after_failure_},
        {"failed", failed_},
        {"quarantined", quarantined_},
        {"watched", watched_.size()},
        {"late_bytes", dirty},
        {"never_ended", flying_},
        {"latest_status_ms_after_deadline", latest_ / static_cast<std::int64_t>(kMillisecond)}};
    std::puts(figures.dump().c_str());
    return dirty == 0 && flying_ == 0 && is_done();
  }

 private:
  [[nodiscard]] bool is_done() const {
    constexpr std::uint64_t kEnough = 8;
    return !watched_.empty() && ok_after_failure_ >= kEnough && now_ns() > watched_since_ + 5 * kSecond;
  }

  struct Read {
    Buffer buffer;
    Nanoseconds deadline = 0;
    Status status = Status::ok;
    bool flying = false;
  };

  void submit_idle() {
    for (std::uint64_t i = 0; i < reads_.size(); ++i) {
      Read& read = reads_[i];
      if (read.flying || now_ns() < pause_until_) continue;
      const auto buffer = client_.allocate(length_);
      if (!buffer) return;
      const rde_object_args args{
          .needle = object_.key, .volume = object_.volume, .cookie = object_.cookie, .offset = 0};
      const Nanoseconds deadline = now_ns() + patience_;
      rde_request request{.op = RDE_OP_OBJECT_READ,
                          .deadline_ns = static_cast<std::uint64_t>(deadline),
                          .buffer_page = buffer->page,
                          .length = length_};
      __builtin_memcpy(request.args, &args, sizeof args);
      if (!channel_.submit(request, i)) {
        client_.release(*buffer);
        return;
      }
      read = {*buffer, deadline, Status::ok, true};
      ++flying_;
    }
  }

  void take_completions(Nanoseconds until) {
    Reaped reaped;
    if (client_.wait(channel_, until) != Waiter::Outcome::ready) return;
    while (channel_.reap(reaped)) {
      Read& read = reads_[reaped.user];
      if (reaped.ends) answered(read, reaped);
      if (reaped.returns_buffer) returned(read);
    }
  }

  void answered(Read& read, const Reaped& reaped) {
    read.status = reaped.status;
    if (!reaped.returns_buffer) ++quarantined_;
    latest_ = std::max(latest_, static_cast<std::int64_t>(now_ns() - read.deadline));
    if (reaped.status == Status::ok) {
      if (++ok_ == 1) std::puts("reading"), std::fflush(stdout);
      ok_after_failure_ += watched_.empty() ? 0 : 1;
      return;
    }
    ++failed_[std::string(name_of(reaped.status))];
    pause_until_ = now_ns() + 20 * kMillisecond;
  }

  // What failed on its way is marked, and never used again.
  void returned(Read& read) {
    read.flying = false;
    --flying_;
    const bool was_sent = read.status != Status::ok && read.status != Status::volume_not_found;
    if (!was_sent || watched_.size() >= kWatched) return client_.release(read.buffer);
    std::ranges::fill(read.buffer.bytes, kMark);
    watched_.push_back(read.buffer);
    watched_since_ = now_ns();
  }

  Client& client_;
  Channel& channel_;
  FileId object_;
  std::uint32_t length_;
  Nanoseconds patience_;
  std::vector<Read> reads_;
  std::vector<Buffer> watched_;
  std::map<std::string, std::uint64_t> failed_;
  std::uint64_t ok_ = 0;
  std::uint64_t ok_after_failure_ = 0;
  std::uint64_t quarantined_ = 0;
  std::uint32_t flying_ = 0;
  Nanoseconds watched_since_ = 0;
  std::int64_t latest_ = std::numeric_limits<std::int64_t>::min();
  Nanoseconds pause_until_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: late_bytes SOCKET VID,FID LENGTH SECONDS DEADLINE_MS\n", stderr);
    return 2;
  }
  const auto object = parse_file_id(argv[2]);
  auto client =
      Client::attach({.socket = argv[1], .name = "late-bytes", .segment_size = kSegment, .channels = 1, .depth = 32});
  if (!object || !client) {
    std::fprintf(stderr, "late_bytes: %s\n", (object ? client.error() : object.error()).text.c_str());
    return 2;
  }
  Watch watch(**client, *object, static_cast<std::uint32_t>(std::atoi(argv[3])), std::atoi(argv[5]) * kMillisecond);
  watch.run(std::atoi(argv[4]) * kSecond);
  return watch.report() ? 0 : 1;
}
