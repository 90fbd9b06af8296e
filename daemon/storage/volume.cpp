#include "storage/volume.h"

#include <fcntl.h>

#include <array>
#include <vector>

namespace rde {
namespace {

std::uint64_t next_instance() {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// O_NONBLOCK: a FIFO of that name must not hang us; it does nothing to a regular file.
Result<Descriptor> open_file(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return system_error("open '" + path + "'", errno);
  if (!stamp_of(file.get()).exists()) return Error{Status::system_error, "open '" + path + "': not a regular file"};
  return file;
}

// Fewer bytes than asked for only at the end of the file.
Result<std::size_t> read_at(int fd, std::span<std::byte> to, std::uint64_t offset, const std::string& path) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Status::io_error, system_error("read '" + path + "'", errno).text};
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<VolumeInfo> read_info(const std::string& path) {
  if (!stamp_of(path).exists()) return VolumeInfo{};
  auto file = open_file(path);
  if (!file) return file.error();
  std::vector<std::byte> text(std::min<std::uint64_t>(stamp_of(file->get()).size, kMaxVolumeInfo + 1));
  const auto got = read_at(file->get(), text, 0, path);
  if (!got) return got.error();
  auto info = parse_volume_info({reinterpret_cast<const char*>(text.data()), *got});
  return info ? info : info.error().in("'" + path + "'");
}

}  // namespace

Volume::Volume(std::string base, const VolumeInfo& info)
    : base_(std::move(base)), instance_(next_instance()), info_(info), index_(info.offset_bytes) {}

Result<std::shared_ptr<Volume>> Volume::open(const std::string& base, const std::stop_token& stop) {
  const FileStamp info_stamp = stamp_of(base + ".vif");
  const auto info = read_info(base + ".vif");
  if (!info) return info.error();
  const std::shared_ptr<Volume> volume(new Volume(base, *info));
  volume->info_stamp_ = info_stamp;
  if (info->is_remote) return volume;
  if (auto opened = volume->open_files(); !opened) return opened.error();
  if (auto read = volume->read_tail(stop); !read) return read.error();
  return volume;
}

Result<void> Volume::open_files() {
  auto data = open_file(base_ + ".dat");
  if (!data) return data.error();
  auto index = open_file(base_ + ".idx");
  if (!index) return index.error();
  data_ = std::move(*data);
  index_file_ = std::move(*index);
  data_stamp_ = stamp_of(data_.get());
  index_stamp_ = stamp_of(index_file_.get());

  std::array<std::byte, Superblock::kBytes> bytes;
  const auto got = read_at(data_.get(), bytes, 0, base_ + ".dat");
  if (!got) return got.error();
  auto superblock = parse_superblock(std::span(bytes).first(*got));
  if (!superblock) return superblock.error().in("'" + base_ + ".dat'");
  superblock_ = *superblock;
  version_ = info_.version != 0 ? info_.version : superblock_.version;
  return {};
}

Result<void> Volume::read_tail(const std::stop_token& stop) {
  const FileStamp stamp = stamp_of(index_file_.get());
  const std::size_t entry_size = index_entry_size(info_.offset_bytes);
  std::vector<std::byte> piece;
  std::uint64_t at = consumed_.load(std::memory_order_relaxed);
  while (at < stamp.size && stamp.size - at >= entry_size) {
    if (stop.stop_requested()) return Error{Status::draining, "'" + base_ + ".idx' is not read any further"};
    const std::uint64_t whole = (stamp.size - at) / entry_size * entry_size;
    piece.resize(std::min<std::uint64_t>(whole, kPiece / entry_size * entry_size));
    const auto got = read_at(index_file_.get(), piece, at, base_ + ".idx");
    if (!got) return got.error();
    const auto entries = std::span(piece).first(*got / entry_size * entry_size);
    if (entries.empty()) break;
    for (std::size_t i = 0; i < entries.size(); i += entry_size) {
      index_.apply(parse_index_entry(entries.subspan(i), info_.offset_bytes));
    }
    at += entries.size();
    consumed_.store(at, std::memory_order_release);
  }
  tail_stamp_ = stamp;
  return {};
}

bool Volume::looks_changed() const {
  if (info_.is_remote) return false;
  const std::uint64_t consumed = consumed_.load(std::memory_order_acquire);
  const FileStamp index = stamp_of(base_ + ".idx");
  return !index.is_same_file(index_stamp_) || index.size < consumed ||
         index.size - consumed >= index_entry_size(info_.offset_bytes) ||
         !stamp_of(base_ + ".dat").is_same_file(data_stamp_);
}

Volume::State Volume::examine() {
  const FileStamp info_stamp = stamp_of(base_ + ".vif");
  if (info_.is_remote && !info_stamp.exists()) return State::gone;
  if (info_stamp != info_stamp_) {
    // A file that is just being written does not parse: look again next time.
    const auto info = read_info(base_ + ".vif");
    if (info && (info->is_remote != info_.is_remote || info->version != info_.version ||
                 info->offset_bytes != info_.offset_bytes)) {
      return State::replaced;
    }
    if (info) info_stamp_ = info_stamp;
  }
  if (info_.is_remote) return State::current;

  const FileStamp data = stamp_of(base_ + ".dat");
  const FileStamp index = stamp_of(base_ + ".idx");
  if (!data.exists() || !index.exists()) return State::gone;
  const bool same_data = data.is_same_file(data_stamp_);
  const bool same_index = index.is_same_file(index_stamp_);
  if (same_data != same_index) return State::half_replaced;
  const std::uint64_t consumed = consumed_.load(std::memory_order_relaxed);
  if (!same_data || index.size < consumed || data.size < data_stamp_.size) return State::replaced;

  std::array<std::byte, Superblock::kBytes> bytes;
  const auto got = read_at(data_.get(), bytes, 0, base_ + ".dat");
  if (got && *got == bytes.size()) {
    const auto superblock = parse_superblock(bytes);
    if (superblock && superblock->compaction_revision != superblock_.compaction_revision) return State::replaced;
  }
  return index.size - consumed >= index_entry_size(info_.offset_bytes) ? State::grown : State::current;
}

Volume::State Volume::examine_closely() {
  const State state = examine();
  if (state != State::current || info_.is_remote) return state;
  const bool touched = stamp_of(data_.get()) != data_stamp_ || stamp_of(index_file_.get()) != tail_stamp_;
  return touched ? State::replaced : state;
}

}  // namespace rde
