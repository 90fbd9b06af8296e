// ring-dump: shows the rings of attached clients, from the engine's socket, a process, or a saved segment.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "common/exit_code.h"
#include "dump/print.h"
#include "dump/target.h"

namespace {

using namespace rde;
using namespace rde::tools;

struct Options {
  std::string target;
  bool json = false;
  std::optional<std::uint64_t> client;
  std::string save;
  bool with_arena = false;
  SnapshotOptions snapshot;
};

int fail(const Error& error) {
  std::cerr << "ring-dump: " << error.text << '\n';
  switch (error.status) {
    case Status::invalid_request:
      return kBadUsage;
    case Status::segment_not_ready:
      return kTimedOut;
    default:
      return kCouldNotStart;
  }
}

struct Taken {
  SegmentImage image;
  Snapshot snapshot;
};

// Every segment of the target that was asked for, in the order in which it was found.
Result<std::vector<Taken>> take_all(Segments& found, const Options& options) {
  std::vector<Taken> all;
  for (auto& source : found.sources) {
    auto image = SegmentImage::open(std::move(source));
    if (!image) return image.error();
    auto snapshot = take_snapshot(*image, options.snapshot);
    const bool is_other = options.client && !snapshot.fault && snapshot.header.client_number != *options.client;
    if (!is_other) all.push_back({std::move(*image), std::move(snapshot)});
  }
  return all;
}

void print_json(const Options& options, const Segments& found, const std::vector<Taken>& all) {
  nlohmann::ordered_json json{{"target", options.target}, {"kind", name_of(found.kind)}};
  json["segments"] = nlohmann::ordered_json::array();
  for (const auto& taken : all) json["segments"].push_back(to_json(taken.snapshot));
  json["notes"] = found.notes;
  std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void print_all(const Options& options, const std::vector<Taken>& all) {
  for (const auto& taken : all) {
    if (&taken != &all.front()) std::cout << '\n';
    print_text(std::cout, taken.snapshot);
  }
  if (all.empty()) std::cout << options.target << ": no client is attached\n";
}

int run(const Options& options) {
  auto found = find_segments(options.target, options.client);
  if (!found) return fail(found.error());
  auto all = take_all(*found, options);
  if (!all) return fail(all.error());
  for (const auto& note : found->notes) std::cerr << "ring-dump: " << note << '\n';

  if (all->empty() && options.client) {
    return fail({Status::system_error, "--client " + std::to_string(*options.client) + ": no such client at " +
                                           options.target + "; leave --client away to see all"});
  }
  if (all->empty() && found->kind == TargetKind::process) {
    return fail(
        {Status::system_error, "process " + options.target + " holds no segment; is it an engine or a client?"});
  }
  if (!options.save.empty() && all->size() != 1) {
    return fail({Status::invalid_request, "--save takes one segment, and " + std::to_string(all->size()) +
                                              " were found; choose with --client N"});
  }
  if (options.json) {
    print_json(options, *found, *all);
  } else {
    print_all(options, *all);
  }
  if (!options.save.empty()) {
    if (auto saved = all->front().image.save(options.save, options.with_arena); !saved) return fail(saved.error());
  }
  const bool bad = std::ranges::any_of(*all, [](const Taken& taken) { return taken.snapshot.fault.has_value(); });
  return bad || (!found->notes.empty() && all->empty()) ? kCheckFailed : kGood;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows the rings between rdma-engine and its clients. Never writes into a segment.", "ring-dump"};
  Options options;
  app.add_option("TARGET", options.target,
                 "attach socket of an engine, id of an engine or client process, or a file made with --save")
      ->required();
  app.add_flag("--json", options.json, "print JSON");
  app.add_option("--client", options.client, "only the segment of the client with this number");
  app.add_option("--save", options.save, "write a raw copy of the segment to this new file (without the arena)");
  app.add_flag("--arena", options.with_arena, "--save: with the arena, which holds object bytes");
  app.add_option("--last", options.snapshot.last, "requests, completions and events to show of each ring")
      ->check(CLI::Range(0U, 65536U))
      ->capture_default_str();
  app.set_version_flag("--version", "ring-dump " RDE_VERSION);
  app.footer(
      "Exit codes: 0 good, 1 a segment does not hold together, 2 bad usage, 3 target not readable, 4 timed out.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kBadUsage;
  }
  return run(options);
}
