// A shard's storage reader and peers, as the shard sees them.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "region/region_table.h"
#include "shard/shard_io.h"
#include "storage/volume_store.h"

namespace rde {

struct EngineIoOptions {
  const Config* config = nullptr;  // outlives the shard
  VolumeStore* volumes = nullptr;  // outlives the shard
  RegionTable* regions = nullptr;  // the same
  std::uint64_t epoch = 0;
  bool listens = false;  // one shard of an engine does
  // Where the address that peers connect to is put; written by the factory, before the shard has started.
  std::string* bound = nullptr;
};

// For a Shard: opens everything on the shard's thread.
ShardIo::Factory engine_io_factory(const EngineIoOptions& options);

}  // namespace rde
