#include "base/status.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace rde {
namespace {

struct Row {
  Status status;
  std::string_view name;
  std::string_view category;
  bool retry;
  std::string_view meaning;
};

constexpr auto kTable = std::to_array<Row>({
#define RDE_STATUS_ROW(name, number, category, retry, meaning) {Status::name, #name, category, retry != 0, meaning},
    RDE_STATUS_TABLE(RDE_STATUS_ROW)
#undef RDE_STATUS_ROW
});
constexpr Row kUnknown{Status::internal, "unknown_status", "internal", false, "not in the table"};

const Row& row_of(Status status) {
  const auto* found = std::ranges::find(kTable, status, &Row::status);
  return found == kTable.end() ? kUnknown : *found;
}

}  // namespace

std::string_view name_of(Status status) { return row_of(status).name; }
std::string_view category_of(Status status) { return row_of(status).category; }
std::string_view meaning_of(Status status) { return row_of(status).meaning; }
bool may_retry(Status status) { return row_of(status).retry; }
bool is_known(std::uint16_t number) { return &row_of(Status{number}) != &kUnknown; }

Error system_error(std::string_view what, int error_number) {
  char buffer[128];
  return {Status::system_error, std::string(what) + ": " + strerror_r(error_number, buffer, sizeof buffer)};
}

}  // namespace rde
