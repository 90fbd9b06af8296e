// One shard with a scripted FakeIo, a real AttachService on a socket in a temporary folder, and the thread that serves
// it.
//
//   Rig rig({.mode = PollMode::event});
//   auto client = rig.attach();
//   rig.on_shard([](FakeIo& io) { io.automatic = true; });
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "client/client.h"
#include "config/config.h"
#include "control/attach_service.h"
#include "fake_io.h"
#include "support/temporary_folder.h"

namespace rde::test {

// Past this, whatever a test waits for will not come any more.
constexpr Nanoseconds kPatience = 60 * kSecond;

struct RigOptions {
  PollMode mode = PollMode::event;
  bool crowded = true;
  int cpu = -1;
  Nanoseconds default_deadline = 30 * kSecond;
  std::size_t max_operations = 65'536;
  std::uint64_t max_quarantined_bytes = std::uint64_t{64} << 20;
  std::function<void(Config&)> configure;
  Resolver::Lookup lookup = rde::resolve;
};

class Rig {
 public:
  explicit Rig(const RigOptions& options = {});
  ~Rig();
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  [[nodiscard]] std::string socket() const { return folder_.file("attach.sock"); }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }
  [[nodiscard]] const ShardStats& stats() const { return shards_[0]->stats(); }
  [[nodiscard]] const IoCounts& counts() const { return counts_; }

  // 2 MiB, one channel of depth 64, where nothing else is asked for.
  std::unique_ptr<Client> attach(AttachOptions options = {});
  Result<std::unique_ptr<Client>> try_attach(AttachOptions options = {});

  // Runs on the shard's thread, and waits for it.
  void on_shard(const std::function<void(FakeIo&)>& task);
  void on_shard(const std::function<void(Shard&, FakeIo&)>& task);
  // Runs on the thread of the attach service, and waits for it.
  void on_control(const std::function<void(AttachService&)>& task);
  void stop_shard(Nanoseconds bound) { shards_[0]->stop(bound); }
  std::thread stop_shard_elsewhere(Nanoseconds bound);

 private:
  void control();

  TemporaryFolder folder_;
  IoCounts counts_;
  FakeIo* io_ = nullptr;  // the shard's
  Resolver resolver_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::optional<EventLoop> loop_;
  std::unique_ptr<AttachService> attach_;
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;
  std::atomic<bool> stopped_{false};
  Descriptor event_;
  std::thread control_;
};

// Waits until `condition` holds; false when it does not within kPatience.
bool eventually(const std::function<bool()>& condition);

// Requests of the common kind.
rde_request nop_request();
rde_request read_request(std::uint64_t needle, const Buffer& buffer, std::uint64_t handle = 0);

// The next completion, or one with status `internal` and `ends` false when none comes.
Reaped next_completion(Client& client, Channel& channel);
Reaped next_completion(Client& client);

// Descriptors and bytes of memory files of this process.
std::size_t open_descriptors();
std::size_t memory_files();

}  // namespace rde::test
