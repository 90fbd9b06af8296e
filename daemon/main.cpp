#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <string>
#include <system_error>

#ifdef RDE_WITH_MIMALLOC
#include <mimalloc.h>
#endif

#include "config/config.h"
#include "doctor/report.h"
#include "engine/engine.h"
#include "engine/examine.h"
#include "engine/signals.h"

namespace {

constexpr int kGood = 0;
constexpr int kCheckFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kCannotStart = 3;

// The library throws where a thread cannot be made.
rde::Result<void> start(rde::Engine& engine) {
  try {
    return engine.start();
  } catch (const std::system_error& error) {
    return rde::Error{rde::Status::resource_exhausted, std::string("a thread cannot be made: ") + error.what() +
                                                           "; raise ulimit -u, or TasksMax of the unit"};
  }
}

}  // namespace

int main(int argc, char** argv) {
  rde::own_signals();
  const auto line = rde::read_command_line(argc, argv);
  if (!line) {
    std::fprintf(stderr, "rdma-engine: %s\n", line.error().text.c_str());
    return kBadUsage;
  }
  if (line->show) {
    std::fputs(line->show->c_str(), stdout);
    return kGood;
  }
  // stdout carries the ready line alone.
  spdlog::set_default_logger(spdlog::stderr_logger_mt("rdma-engine"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%f%z %l %v");
  spdlog::set_level(spdlog::level::from_str(line->config.log_level));

  if (line->doctor) {
    spdlog::set_level(spdlog::level::off);  // the findings say it all
    const auto findings = rde::examine(line->config);
    std::fputs((line->json ? rde::as_json(findings) : rde::as_text(findings)).c_str(), stdout);
    return rde::worst(findings) == rde::Severity::error ? kCheckFailed : kGood;
  }
#ifdef RDE_WITH_MIMALLOC
  // Named here so that the linker keeps it: being loaded, it is the heap of the whole process.
  spdlog::debug("heap mimalloc {}", mi_version());
#endif
  rde::Engine engine(line->config);
  if (auto started = start(engine); !started) {
    spdlog::error("cannot start: {}", started.error().text);
    return started.error().status == rde::Status::invalid_request ? kBadUsage : kCannotStart;
  }
  engine.run();
  return kGood;
}
