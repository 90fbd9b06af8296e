// Owners of verbs objects: each is destroyed when its owner goes.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>

namespace rde {

template <auto destroy>
struct DestroyBy {
  template <class T>
  void operator()(T* object) const {
    destroy(object);
  }
};

using OwnedContext = std::unique_ptr<ibv_context, DestroyBy<&ibv_close_device>>;
using OwnedDomain = std::unique_ptr<ibv_pd, DestroyBy<&ibv_dealloc_pd>>;
using OwnedRegistration = std::unique_ptr<ibv_mr, DestroyBy<&ibv_dereg_mr>>;
using OwnedCompletionChannel = std::unique_ptr<ibv_comp_channel, DestroyBy<&ibv_destroy_comp_channel>>;
using OwnedCompletionQueue = std::unique_ptr<ibv_cq, DestroyBy<&ibv_destroy_cq>>;
using OwnedQueuePair = std::unique_ptr<ibv_qp, DestroyBy<&ibv_destroy_qp>>;
using OwnedEventChannel = std::unique_ptr<rdma_event_channel, DestroyBy<&rdma_destroy_event_channel>>;
using OwnedConnection = std::unique_ptr<rdma_cm_id, DestroyBy<&rdma_destroy_id>>;

}  // namespace rde
