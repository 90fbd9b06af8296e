// Serves other engines from this engine's volumes: all accepted links of a shard, and the staging
// memory that they share. Owner thread only.
//
//   Responder responder(host, &source, &volumes, std::move(staging), *staging_memory);
//   host.transport().listen(where, responder);
//   responder.progress(now);      // in the hub's progress, with the source's beside it
#pragma once

#include <memory>
#include <vector>

#include "object/object_source.h"
#include "peer/list.h"
#include "peer/peer_host.h"
#include "peer/pool.h"
#include "peer/serve_session.h"
#include "peer/staging_blocks.h"
#include "peer/volumes.h"
#include "region/region_table.h"

namespace rde {

class Responder final : public LinkAcceptor {
 public:
  // Without source, every read is answered volume_not_found; without regions, their messages break the protocol. What
  // is given outlives this.
  Responder(PeerHost& host, ObjectSource* source, const VolumeList* volumes, std::optional<StagingBlocks> staging,
            Memory* memory, RegionTable* regions);
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  LinkObserver* on_accept(Link& link) override;
  unsigned progress();
  void tick(Nanoseconds now);

  // New requests are answered `draining`, new links are refused.
  void drain();
  void close_all(const Error& why);
  [[nodiscard]] bool is_closed() const { return sessions_.empty() && serves_.used() == 0; }
  [[nodiscard]] bool busy() const { return serves_.used() != 0; }
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }
  [[nodiscard]] std::size_t active() const { return serves_.used(); }
  [[nodiscard]] std::size_t staging_in_use() const { return staging_ ? staging_->in_use() : 0; }

 private:
  friend class ServeSession;
  friend class Serve;

  // Gives staging memory to sessions in turns, as long as there is any.
  void pump();
  void release(Serve& serve);

  PeerHost& host_;
  ObjectSource* source_;
  const VolumeList* volumes_;
  std::optional<StagingBlocks> staging_;
  Memory* memory_;
  RegionTable* regions_;
  VolumeSnapshot snapshot_;
  bool draining_ = false;
  bool is_pumping_ = false;
  bool needs_look_ = false;  // a session is gone, or has volumes to announce
  std::vector<std::unique_ptr<ServeSession>> sessions_;
  List<ServeSession> waiting_;  // with queued requests
  Pool<Serve> serves_;
};

}  // namespace rde
