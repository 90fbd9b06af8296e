#include "attach/hello.h"
#include "common/names.h"
#include "dump/print.h"

namespace rde::tools {
namespace {

using Json = nlohmann::ordered_json;

Json header_json(const Snapshot& snapshot) {
  const auto& h = snapshot.header;
  return {{"abi", std::to_string(h.abi_major) + "." + std::to_string(h.abi_minor)},
          {"layout_hash", hex(h.layout_hash, 16)},
          {"epoch", hex(h.epoch, 16)},
          {"client_number", h.client_number},
          {"client_pid", h.client_pid},
          {"engine_pid", h.engine_pid},
          {"total_size", h.total_size},
          {"page_size", h.page_size},
          {"shard_count", h.shard_count},
          {"channel_count", h.channel_count},
          {"depth", h.depth},
          {"completion_depth", h.completion_depth},
          {"counter_count", h.counter_count},
          {"recorder_events", h.recorder_events},
          {"required_features", hex(h.required_features)},
          {"optional_features", hex(h.optional_features)},
          {"offsets",
           {{"engine_page", h.engine_page_offset},
            {"client_page", h.client_page_offset},
            {"doorbells", h.doorbells_offset},
            {"channels", h.channels_offset},
            {"channel_stride", h.channel_stride},
            {"counters", h.counters_offset},
            {"recorder", h.recorder_offset},
            {"arena", h.arena_offset},
            {"arena_size", h.arena_size}}},
          {"header_crc", hex(h.header_crc, 8)},
          {"ready", h.ready == RDE_READY}};
}

Json doorbell_json(const DoorbellSnapshot& bell) {
  Json json{{"reader", bell.shard ? "shard" : "client"}};
  if (bell.shard) json["shard"] = *bell.shard;
  json["sleep"] = bell.sleep;
  json["asleep"] = (bell.sleep & 1U) != 0;
  json["woken"] = bell.woken;
  json["sleeps"] = bell.sleeps;
  json["late_wakeups"] = bell.late_wakeups;
  json["rung"] = bell.rung;
  return json;
}

Json level_json(const RingLevel& level) {
  return {{"written", level.written},
          {"read", level.read},
          {"waiting", level.waiting},
          {"next_slot", {{"slot", level.next_slot}, {"unstable", true}}},
          {"odd_slots", level.odd_slots}};
}

Json request_json(const RequestEntry& entry) {
  const auto& request = entry.request;
  Json json{{"position", entry.position}, {"slot", entry.slot}, {"unstable", !entry.stable}};
  if (!entry.stable) return json;
  json["op"] = op_name(request.op);
  json["tag"] = hex(request.tag);
  json["handle"] = hex(request.handle);
  json["flags"] = request_flag_names(request.flags);
  json["priority"] = priority_name(request.priority);
  json["deadline_ns"] = request.deadline_ns;
  json["buffer_page"] = request.buffer_page;
  json["length"] = request.length;
  json["args"] = describe_args(request);
  json["taken"] = entry.taken;
  json["answer"] = entry.answer ? Json(status_name(*entry.answer)) : Json();
  return json;
}

Json completion_json(const CompletionEntry& entry) {
  const auto& completion = entry.completion;
  Json json{{"position", entry.position}, {"slot", entry.slot}, {"unstable", !entry.stable}};
  if (!entry.stable) return json;
  json["status"] = status_name(completion.status);
  json["flags"] = completion_flag_names(completion.flags);
  json["tag"] = hex(completion.tag);
  json["bytes"] = completion.bytes;
  json["crc"] = hex(completion.crc, 8);
  json["value"] = completion.value;
  json["reaped"] = entry.reaped;
  return json;
}

Json channel_json(const ChannelSnapshot& channel) {
  const auto& lines = channel.lines;
  Json json{{"index", channel.index},
            {"state", channel_state_name(lines.state)},
            {"fault", lines.fault_status == 0 ? Json() : Json(status_name(lines.fault_status))},
            {"shard", lines.shard},
            {"in_flight", lines.in_flight},
            {"quarantined", lines.quarantined},
            {"request_cold", lines.request_cold != 0},
            {"completion_cold", lines.completion_cold != 0},
            {"cursors",
             {{"requests_posted", lines.requests_posted},
              {"requests_taken", lines.requests_taken},
              {"completions_posted", lines.completions_posted},
              {"completions_reaped", lines.completions_reaped}}},
            {"requests", level_json(channel.requests)},
            {"completions", level_json(channel.completions)}};
  json["last_requests"] = Json::array();
  for (const auto& entry : channel.last_requests) json["last_requests"].push_back(request_json(entry));
  json["last_completions"] = Json::array();
  for (const auto& entry : channel.last_completions) json["last_completions"].push_back(completion_json(entry));
  return json;
}

Json event_json(const EventEntry& entry) {
  if (!entry.whole) return {{"unstable", true}};
  const auto& event = entry.event;
  return {{"unstable", false},        {"sequence", event.sequence - 1},
          {"time_ns", event.time_ns}, {"type", event_name(event.type)},
          {"channel", event.channel}, {"a", hex(event.a)},
          {"b", hex(event.b)}};
}

}  // namespace

Json to_json(const Snapshot& snapshot) {
  Json json{{"label", snapshot.label}, {"live", snapshot.live}, {"taken_ns", snapshot.taken_ns}};
  if (snapshot.fault) {
    json["error"] = {{"status", name_of(snapshot.fault->status)}, {"text", snapshot.fault->text}};
    return json;
  }
  json["header"] = header_json(snapshot);
  json["engine"] = {{"state", engine_state_name(snapshot.engine.state)},
                    {"heartbeat_ns", snapshot.engine.heartbeat_ns}};
  json["client"] = {{"heartbeat_ns", snapshot.client.heartbeat_ns}, {"lent_buffers", snapshot.client.lent_buffers}};
  json["doorbells"] = Json::array();
  for (const auto& bell : snapshot.doorbells) json["doorbells"].push_back(doorbell_json(bell));
  json["channels"] = Json::array();
  for (const auto& channel : snapshot.channels) json["channels"].push_back(channel_json(channel));
  json["counters"] = Json::array();
  for (const auto& counter : snapshot.counters) {
    json["counters"].push_back({{"id", counter.id},
                                {"label", get_text(counter.label)},
                                {"type", counter_type_name(counter.type)},
                                {"value", counter.value}});
  }
  json["recorder"] = {{"events_ever", snapshot.recorded}, {"last", Json::array()}};
  for (const auto& entry : snapshot.events) json["recorder"]["last"].push_back(event_json(entry));
  return json;
}

}  // namespace rde::tools
