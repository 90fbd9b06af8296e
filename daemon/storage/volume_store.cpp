#include "storage/volume_store.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <csignal>

namespace rde {
namespace {

constexpr Nanoseconds kSwapPoll = 5 * kMillisecond;    // while the second rename of a swap is awaited
constexpr Nanoseconds kGatherTime = 2 * kMillisecond;  // a busy server's appends are taken in together
constexpr std::size_t kMaxRequests = 4096;

void ring(int event_fd) {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then whoever waits is awake.
  [[maybe_unused]] const auto written = write(event_fd, &one, sizeof one);
}

}  // namespace

VolumeStore::VolumeStore(StoreOptions options)
    : options_(std::move(options)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      cache_(options_.cached_needles),
      catalog_(options_.folders, options_.warn, stop_.get_token()) {}

Result<std::unique_ptr<VolumeStore>> VolumeStore::open(StoreOptions options) {
  for (const auto& folder : options.folders) {
    if (const auto names = list_volumes(folder); !names) {
      return Error{Status::invalid_request, names.error().text + "; name an existing folder that this user may read"};
    }
  }
  std::unique_ptr<VolumeStore> store(new VolumeStore(std::move(options)));
  if (!store->wake_) return system_error("eventfd", errno);
  store->watch_folders();
  store->catalog_.scan(now_ns());
  store->publish();

  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  store->thread_ = std::thread([raw = store.get()] { raw->follow(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return store;
}

VolumeStore::~VolumeStore() {
  stop_.request_stop();
  ring(wake_.get());
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const VolumeSet> VolumeStore::volumes() const {
  const std::lock_guard guard(mutex_);
  return set_;
}

std::uint64_t VolumeStore::request_check(std::uint32_t volume, bool suspect) {
  std::uint64_t ticket = 0;
  {
    const std::lock_guard guard(mutex_);
    // Beyond the bound a request is only counted: the round it waits for looks at everything.
    if (requests_.size() < kMaxRequests) requests_.push_back({volume, suspect});
    ticket = ++requested_;
  }
  ring(wake_.get());
  return ticket;
}

void VolumeStore::add_listener(int event_fd) {
  const std::lock_guard guard(mutex_);
  listeners_.push_back(event_fd);
}

void VolumeStore::remove_listener(int event_fd) {
  const std::lock_guard guard(mutex_);
  std::erase(listeners_, event_fd);
}

void VolumeStore::watch_folders() {
  bool all = true;
  for (const auto& folder : options_.folders) all = watch_.add(folder) && all;
  if (!all && !told_unwatched_) {
    options_.warn(
        "inotify refuses a watch; new volumes are found by looking now and then (raise fs.inotify.max_user_watches)");
  }
  told_unwatched_ = !all;
}

void VolumeStore::follow() {
  Nanoseconds scan_due = now_ns() + options_.poll_interval;
  while (!stop_.stop_requested()) {
    const Nanoseconds now = now_ns();
    wait(catalog_.is_unsettled() ? std::min(scan_due, now + kSwapPoll) : scan_due);
    const bool due = now_ns() >= scan_due;
    if (due) {
      watch_folders();
      scan_due = now_ns() + options_.poll_interval;
    }
    run_round(due || catalog_.is_unsettled());
  }
}

// Returns when somebody asks for something, a folder has news, or the time has come.
void VolumeStore::wait(Nanoseconds until) {
  std::array<pollfd, 2> descriptors{{{wake_.get(), POLLIN, 0}, {watch_.descriptor(), POLLIN, 0}}};
  const auto wait_for = [&](std::size_t count, Nanoseconds time) {
    const Nanoseconds now = now_ns();
    const timespec left{static_cast<time_t>(time > now ? (time - now) / kSecond : 0),
                        static_cast<long>(time > now ? (time - now) % kSecond : 0)};
    ppoll(descriptors.data(), count, &left, nullptr);
  };
  wait_for(2, until);
  if ((descriptors[0].revents & POLLIN) == 0) wait_for(1, std::min(until, now_ns() + kGatherTime));
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(wake_.get(), &count, sizeof count);
}

void VolumeStore::run_round(bool scan_due) {
  std::vector<Request> requests;
  std::uint64_t ticket = 0;
  {
    const std::lock_guard guard(mutex_);
    requests.swap(requests_);
    ticket = requested_;
  }
  // News is taken after the requests: what happened before a request was made is part of its answer.
  const auto news = watch_.take();
  const Nanoseconds now = now_ns();
  if (scan_due || news.structure || requests.size() >= kMaxRequests) catalog_.scan(now);
  for (const std::uint32_t volume : news.grown) catalog_.refresh(volume, false, now);
  for (const auto& request : requests) catalog_.refresh(request.volume, request.suspect, now);
  publish();

  {
    const std::lock_guard guard(mutex_);
    if (ticket > checked_.load(std::memory_order_relaxed)) {
      checked_.store(ticket, std::memory_order_release);
      for (const int listener : listeners_) ring(listener);
    }
  }
  catalog_.close_retired();
}

void VolumeStore::publish() {
  const auto& now = catalog_.volumes();
  std::shared_ptr<const VolumeSet> before;
  {
    const std::lock_guard guard(mutex_);
    if (set_ == now) return;
    before = std::exchange(set_, now);
  }
  version_.fetch_add(1, std::memory_order_release);
  if (!before || before->served() != now->served()) generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace rde
