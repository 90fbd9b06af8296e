#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "attach/hello.h"
#include "common/names.h"
#include "dump/print.h"

namespace rde::tools {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list list;
  va_start(list, pattern);
  std::vsnprintf(text, sizeof text, pattern, list);
  va_end(list);
  return text;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string age(const Snapshot& snapshot, Nanoseconds then) {
  if (then == 0) return "never";
  if (!snapshot.live || then > snapshot.taken_ns) return number(then) + " ns";
  return format("%.3f s ago", static_cast<double>(snapshot.taken_ns - then) / static_cast<double>(kSecond));
}

void print_header(std::ostream& out, const Snapshot& snapshot) {
  const auto& h = snapshot.header;
  out << "  ABI " << h.abi_major << '.' << h.abi_minor << ", layout hash " << hex(h.layout_hash, 16) << ", epoch "
      << hex(h.epoch, 16) << '\n';
  out << "  client " << h.client_number << " pid " << describe_pid(h.client_pid, snapshot.live) << ", engine pid "
      << describe_pid(h.engine_pid, snapshot.live) << '\n';
  out << "  " << h.total_size << " bytes in pages of " << h.page_size << ", arena " << h.arena_size << " at "
      << h.arena_offset << '\n';
  out << "  " << h.channel_count << " channels, depth " << h.depth << " (completions " << h.completion_depth << "), "
      << h.shard_count << " shards\n";
}

void print_doorbells(std::ostream& out, const Snapshot& snapshot) {
  for (const auto& bell : snapshot.doorbells) {
    out << "doorbell " << (bell.shard ? "shard " + number(*bell.shard) : std::string("client")) << ": "
        << ((bell.sleep & 1U) != 0 ? "asleep" : "awake") << " (generation " << bell.sleep << ", woken at " << bell.woken
        << "), " << bell.sleeps << " sleeps, " << bell.late_wakeups << " late wake-ups";
    if (bell.late_wakeups != 0) out << " (must be 0: a wake-up was lost)";
    out << ", rung by " << bell.rung.size() << " channels\n";
  }
}

void print_level(std::ostream& out, const char* name, const RingLevel& level, std::uint32_t slots) {
  out << format("  %-11s written %" PRIu64 ", read %" PRIu64 ", waiting %" PRIu64 " of %u, next slot %u (unstable)",
                name, level.written, level.read, level.waiting, slots, level.next_slot);
  if (level.odd_slots != 0) out << ", " << level.odd_slots << " slots with a lap that fits no ring";
  out << '\n';
}

void print_request(std::ostream& out, const RequestEntry& entry) {
  const auto& request = entry.request;
  out << format("    request    %" PRIu64 " slot %u: ", entry.position, entry.slot);
  if (!entry.stable) {
    out << "unstable\n";
    return;
  }
  out << op_name(request.op) << " tag " << hex(request.tag) << ", buffer page " << request.buffer_page << " length "
      << request.length;
  if (request.handle != 0) out << ", handle " << hex(request.handle);
  if (request.flags != 0) out << ", flags " << joined(request_flag_names(request.flags));
  if (request.priority != 0) out << ", " << priority_name(request.priority);
  if (request.deadline_ns != 0) out << ", deadline " << request.deadline_ns;
  if (const auto args = describe_args(request); !args.empty()) out << ", " << args;
  out << (entry.answer ? " -> " + status_name(*entry.answer) : std::string(entry.taken ? " -> taken" : " -> waiting"))
      << '\n';
}

void print_completion(std::ostream& out, const CompletionEntry& entry) {
  const auto& completion = entry.completion;
  out << format("    completion %" PRIu64 " slot %u: ", entry.position, entry.slot);
  if (!entry.stable) {
    out << "unstable\n";
    return;
  }
  out << status_name(completion.status) << " tag " << hex(completion.tag) << ", bytes " << completion.bytes << ", crc "
      << hex(completion.crc, 8) << ", value " << completion.value;
  if (completion.flags != 0) out << ", flags " << joined(completion_flag_names(completion.flags));
  out << (entry.reaped ? " -> reaped" : " -> waiting") << '\n';
}

void print_channel(std::ostream& out, const Snapshot& snapshot, const ChannelSnapshot& channel) {
  const auto& lines = channel.lines;
  out << "channel " << channel.index << ": " << channel_state_name(lines.state);
  if (lines.fault_status != 0) out << " by " << status_name(lines.fault_status);
  out << ", shard " << lines.shard << ", in flight " << lines.in_flight << ", quarantined " << lines.quarantined
      << ", requests " << (lines.request_cold != 0 ? "cold" : "hot") << ", completions "
      << (lines.completion_cold != 0 ? "cold" : "hot") << '\n';
  out << format("  cursors     posted %" PRIu64 ", taken %" PRIu64 ", completed %" PRIu64 ", reaped %" PRIu64 "\n",
                lines.requests_posted, lines.requests_taken, lines.completions_posted, lines.completions_reaped);
  print_level(out, "requests", channel.requests, snapshot.header.depth);
  print_level(out, "completions", channel.completions, snapshot.header.completion_depth);
  for (const auto& entry : channel.last_requests) print_request(out, entry);
  for (const auto& entry : channel.last_completions) print_completion(out, entry);
}

void print_channels(std::ostream& out, const Snapshot& snapshot) {
  std::uint64_t unused = 0;
  for (const auto& channel : snapshot.channels) {
    if (channel.is_unused() && channel.index != 0) {
      ++unused;
    } else {
      print_channel(out, snapshot, channel);
    }
  }
  if (unused != 0) out << unused << " more channels: never used\n";
}

std::string describe(const rde_recorder_event& event) {
  switch (event.type) {
    case RDE_EVENT_REQUEST:
      return "tag " + hex(event.a) + " " + op_name(static_cast<std::uint32_t>(event.b));
    case RDE_EVENT_COMPLETION:
      return "tag " + hex(event.a) + " " + status_name(static_cast<std::uint32_t>(event.b));
    case RDE_EVENT_FAULT:
      return status_name(static_cast<std::uint32_t>(event.a)) + " at position " + number(event.b);
    case RDE_EVENT_PEER_DOWN:
      return "peer " + hex(event.a) + " " + status_name(static_cast<std::uint32_t>(event.b));
    default:
      return hex(event.a) + " " + hex(event.b);
  }
}

void print_events(std::ostream& out, const Snapshot& snapshot) {
  out << "recorder: " << snapshot.recorded << " events ever\n";
  for (const auto& entry : snapshot.events) {
    out << "  ";
    if (entry.whole) {
      out << entry.event.sequence - 1 << ' ' << age(snapshot, entry.event.time_ns) << ", channel "
          << entry.event.channel << ": " << event_name(entry.event.type) << ' ' << describe(entry.event) << '\n';
    } else {
      out << "an event that was being written\n";
    }
  }
}

}  // namespace

void print_text(std::ostream& out, const Snapshot& snapshot) {
  out << "segment of " << snapshot.label << '\n';
  if (snapshot.fault) {
    out << "  not readable: " << snapshot.fault->text << '\n';
    return;
  }
  print_header(out, snapshot);
  out << "engine: " << engine_state_name(snapshot.engine.state) << ", heartbeat "
      << age(snapshot, snapshot.engine.heartbeat_ns) << '\n';
  out << "client: " << snapshot.client.lent_buffers << " buffers lent, heartbeat "
      << age(snapshot, snapshot.client.heartbeat_ns) << '\n';
  print_doorbells(out, snapshot);
  print_channels(out, snapshot);
  out << "counters:";
  for (const auto& counter : snapshot.counters) {
    out << ' ' << get_text(counter.label) << '=' << counter.value;
  }
  out << '\n';
  print_events(out, snapshot);
}

}  // namespace rde::tools
