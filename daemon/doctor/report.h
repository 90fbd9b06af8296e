// Findings, as a person and as a program reads them.
#pragma once

#include <string>

#include "doctor/finding.h"

namespace rde {

// The worst of them; `good` where there are none.
Severity worst(const Findings& findings);

// A line for each: severity, check, what is so; below it what mends it.
std::string as_text(const Findings& findings);
// {"ok": …, "findings": [{"check", "severity", "text", "mend"}, …]}; `ok` where nothing is an error.
std::string as_json(const Findings& findings);

}  // namespace rde
