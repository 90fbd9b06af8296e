// Where a hub's tasks come from.
#pragma once

#include "peer/pool.h"
#include "peer/read_task.h"
#include "peer/region_task.h"

namespace rde {

struct TaskPools {
  Pool<ReadTask> reads;
  Pool<RegionTask> regions;
};

}  // namespace rde
