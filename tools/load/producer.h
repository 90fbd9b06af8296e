// A thread's share of a load: keeps its places filled, takes answers, checks them.
//
//   Producer producer(options, connection, stop, 0);
//   producer.run(start_ns);                 // until the time is over, or the stop sign
//   total.merge(producer.tally());
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "load/connection.h"
#include "load/job.h"
#include "load/options.h"
#include "load/stop.h"
#include "load/tally.h"

namespace rde::tools {

class Producer {
 public:
  // `index` is its channel. All references outlive it.
  Producer(const LoadOptions& options, Connection& connection, const StopSign& stop, std::uint32_t index);

  void run(Nanoseconds start);

  // After run().
  [[nodiscard]] const Tally& tally() const { return tally_; }
  // Why it ended early: no buffer of the size needed, or no engine. Empty: it did not.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] bool timed_out() const { return timed_out_; }

  // While it runs, from any thread.
  struct Progress {
    std::atomic<std::uint64_t> done{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  [[nodiscard]] const Progress& progress() const { return progress_; }

 private:
  static constexpr std::uint32_t kNobody = 0xFFFFFFFF;

  // What is known of a request until its buffer is back.
  struct Ticket {
    std::uint32_t job = kNobody;
    std::optional<Buffer> buffer;
    std::uint32_t next_free = kNobody;
    Nanoseconds given_up = 0;  // when the client stops waiting for an answer
  };

  bool turn();
  bool reap_all();
  void on_reaped(const Reaped& reaped);
  bool fill_places();
  bool start_job(std::uint32_t index);
  bool send(std::uint32_t index);
  void settle(std::uint32_t index);
  void wait();
  void look_for_lost_answers();
  bool lose_engine(const char* status);
  void use(Connection::Lease lease);
  void publish_progress();
  [[nodiscard]] bool ending() const { return stop_.level() > 0 || now_ >= end_; }

  const LoadOptions& options_;
  Connection& connection_;
  const StopSign& stop_;
  std::uint32_t index_;
  Connection::Lease lease_;
  Channel* channel_ = nullptr;

  std::array<Reaped, 64> batch_;
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> idle_;     // jobs that can be started
  std::vector<std::uint32_t> starved_;  // jobs that wait for a buffer
  std::vector<Ticket> tickets_;
  std::uint32_t free_ticket_ = kNobody;

  Nanoseconds now_ = 0;
  Nanoseconds end_ = 0;
  Nanoseconds give_up_ = 0;
  Nanoseconds looked_ = 0;
  double interval_ = 0;  // between two starts, open loop; 0 = closed
  double next_start_ = 0;
  std::mt19937_64 random_;
  std::size_t next_object_;
  std::uint32_t told_ = 0;  // wrong answers described on stderr

  Tally tally_;
  Progress progress_;
  std::string trouble_;
  bool timed_out_ = false;
};

}  // namespace rde::tools
