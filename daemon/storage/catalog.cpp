#include "storage/catalog.h"

#include <algorithm>
#include <utility>

namespace rde {
namespace {

// A suspicion makes us load a volume again at most this often, and spend at most a twentieth of the time on it.
constexpr Nanoseconds kReloadPause = kSecond;
constexpr Nanoseconds kReloadShare = 20;
// A volume that is just being made lacks a file for a moment: say so only when it still does at the next look.
constexpr unsigned kSightingsToTell = 2;
constexpr int kOpenTries = 3;

}  // namespace

Catalog::Catalog(std::vector<std::string> folders, Warn warn, std::stop_token stop)
    : folders_(std::move(folders)), warn_(std::move(warn)), stop_(std::move(stop)) {}

void Catalog::scan(Nanoseconds now) {
  std::map<std::uint32_t, std::vector<std::string>> candidates;  // in the order of the folders
  for (const auto& folder : folders_) {
    const auto names = list_volumes(folder);
    if (!names) {
      if (told_.insert(folder).second) warn_(names.error().text + "; its volumes are not served");
      continue;
    }
    told_.erase(folder);
    for (const auto& name : *names) candidates[*volume_id_of(name)].push_back(folder + "/" + name);
  }

  for (auto entry = known_.begin(); entry != known_.end();) {
    auto& [id, known] = *entry;
    const auto found = candidates.find(id);
    const bool listed = found != candidates.end() && std::ranges::count(found->second, known.volume->base()) != 0;
    if (listed && update(id, known, false, now)) {
      ++entry;
      continue;
    }
    retire(std::move(known.volume));
    entry = known_.erase(entry);
  }
  for (const auto& [id, bases] : candidates) {
    for (const auto& base : bases) {
      if (known_.contains(id) || open(id, base, now)) break;
    }
    const auto known = known_.find(id);
    if (known == known_.end()) continue;
    for (const auto& base : bases) {
      if (base == known->second.volume->base() || !told_.insert(base).second) continue;
      warn_("volume " + std::to_string(id) + " is in '" + base + "' too; '" + known->second.volume->base() +
            "' is served; remove one of them");
    }
  }
  std::erase_if(broken_, [&](const auto& entry) {
    const auto found = candidates.find(*volume_id_of(entry.first.substr(entry.first.rfind('/') + 1)));
    return found == candidates.end() || std::ranges::count(found->second, entry.first) == 0;
  });
  publish();
}

void Catalog::refresh(std::uint32_t id, bool suspect, Nanoseconds now) {
  const auto known = known_.find(id);
  if (known != known_.end() && !update(id, known->second, suspect, now)) {
    // Another folder may hold it as well.
    scan(now);
    return;
  }
  publish();
}

bool Catalog::is_unsettled() const {
  return std::ranges::any_of(known_,
                             [](const auto& entry) { return entry.second.volume->swap() == Volume::Swap::waiting; });
}

bool Catalog::open(std::uint32_t id, const std::string& base, Nanoseconds now) {
  const FileStamp data = stamp_of(base + ".dat");
  const FileStamp index = stamp_of(base + ".idx");
  const FileStamp info = stamp_of(base + ".vif");
  Broken& broken = broken_[base];
  const bool same = broken.sightings != 0 && broken.data == data && broken.index == index && broken.info == info;
  if (same && broken.sightings >= kSightingsToTell) return false;

  const Nanoseconds started = now_ns();
  auto volume = Volume::open(base, stop_);
  // Data and index are opened one after the other: make sure that nobody swapped them in between.
  for (int tries = 1; volume && tries < kOpenTries; ++tries) {
    const auto state = (*volume)->examine();
    if (state == Volume::State::current || state == Volume::State::grown) break;
    volume = Volume::open(base, stop_);
  }
  if (stop_.stop_requested()) return false;
  if (!volume) {
    broken = {data, index, info, same ? broken.sightings + 1 : 1};
    // Without data it may be erasure coded, which is nobody's mistake.
    if (broken.sightings == kSightingsToTell && data.exists()) {
      warn_("volume " + std::to_string(id) + " is not served: " + volume.error().text);
    }
    return false;
  }
  broken_.erase(base);
  Known& known = known_[id];
  retire(std::exchange(known.volume, std::move(*volume)));
  known.loaded_at = now;
  known.load_time = now_ns() - started;
  return true;
}

bool Catalog::update(std::uint32_t id, Known& known, bool suspect, Nanoseconds now) {
  Volume& volume = *known.volume;
  const bool closely = suspect && now - known.loaded_at >= std::max(kReloadPause, kReloadShare * known.load_time);
  const auto state = closely ? volume.examine_closely() : volume.examine();
  bool overdue = false;
  switch (state) {
    case Volume::State::current:
    case Volume::State::grown:
      if (volume.swap() == Volume::Swap::waiting) volume.set_swap(Volume::Swap::settled);
      if (state == Volume::State::current) return true;
      if (auto read = volume.read_tail(stop_); !read && !stop_.stop_requested())
        warn_("volume " + std::to_string(id) + ": " + read.error().text);
      return true;
    case Volume::State::half_replaced:
      // The open pair agrees with itself, so it is served until the other rename has come; unless a reader
      // has found that it does not.
      if (volume.swap() != Volume::Swap::waiting) known.swap_since = now;
      volume.set_swap(Volume::Swap::waiting);
      overdue = now - known.swap_since >= kSwapPatience;
      if (!overdue && !suspect) return true;
      break;
    case Volume::State::replaced:
      break;
    case Volume::State::gone:
      return false;
  }
  if (!open(id, std::string(volume.base()), now)) return false;
  if (overdue) known.volume->set_swap(Volume::Swap::overdue);
  return true;
}

void Catalog::retire(std::shared_ptr<Volume> volume) {
  if (volume) retired_.push_back(std::move(volume));
  changed_ = true;
}

// With one owner left, nobody but a set can still ask for it; and such a set is an old one.
void Catalog::close_retired() {
  std::erase_if(retired_, [](const auto& volume) { return volume.use_count() == 1; });
}

void Catalog::publish() {
  if (!changed_) return;
  changed_ = false;
  std::vector<VolumeSet::Member> members;
  members.reserve(known_.size());
  for (const auto& [id, known] : known_) members.push_back({id, known.volume->is_remote(), known.volume});
  set_ = std::make_shared<VolumeSet>(std::move(members));
}

}  // namespace rde
