#include "doctor/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace rde {
namespace {

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::good:
      return "good";
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "error";
}

}  // namespace

Severity worst(const Findings& findings) {
  Severity severity = Severity::good;
  for (const auto& finding : findings) severity = std::max(severity, finding.severity);
  return severity;
}

std::string as_text(const Findings& findings) {
  std::string text;
  for (const auto& finding : findings) {
    std::string head = name_of(finding.severity);
    head.resize(9, ' ');
    std::string check = finding.check;
    check.resize(std::max<std::size_t>(check.size() + 1, 14), ' ');
    text += head + check + finding.text + "\n";
    if (!finding.mend.empty()) text += std::string(23, ' ') + "mend: " + finding.mend + "\n";
  }
  return text;
}

std::string as_json(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"severity", name_of(finding.severity)},
                    {"text", finding.text},
                    {"mend", finding.mend}});
  }
  const nlohmann::ordered_json report{{"ok", worst(findings) != Severity::error}, {"findings", std::move(list)}};
  // A path may hold bytes that are not UTF-8.
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rde
