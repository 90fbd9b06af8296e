#include "base/status.h"

#include <doctest/doctest.h>

#include <cerrno>

TEST_CASE("a status knows its name, category and whether a retry may help") {
  CHECK(rde::name_of(rde::Status::volume_not_found) == "volume_not_found");
  CHECK(rde::category_of(rde::Status::volume_not_found) == "io");
  CHECK(rde::may_retry(rde::Status::peer_down));
  CHECK_FALSE(rde::may_retry(rde::Status::object_not_found));
}

TEST_CASE("a number that is no status is named so") {
  CHECK_FALSE(rde::is_known(65'535));
  CHECK(rde::name_of(rde::Status{65'535}) == "unknown_status");
}

TEST_CASE("an error says what was being done") {
  const auto error = rde::system_error("open /nowhere", ENOENT).in("export");
  CHECK(error.text == "export: open /nowhere: No such file or directory");
  CHECK(error.status == rde::Status::system_error);
}
