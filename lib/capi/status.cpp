#include "base/clock.h"
#include "capi/client.h"
#include "seaweed/file_id.h"

namespace {

// A number that no status can have is as unknown as one that none has.
rde::Status status_of(int status) {
  return rde::Status{static_cast<std::uint16_t>(status < 0 || status > 0xFFFF ? 0xFFFF : status)};
}

}  // namespace

extern "C" {

// The texts of the table are literals, so they end in a zero byte.
const char* rde_status_name(int status) { return rde::name_of(status_of(status)).data(); }
const char* rde_status_category(int status) { return rde::category_of(status_of(status)).data(); }
const char* rde_status_meaning(int status) { return rde::meaning_of(status_of(status)).data(); }
int rde_status_may_retry(int status) { return rde::may_retry(status_of(status)) ? 1 : 0; }

const char* rde_version(void) { return RDE_LIBRARY_VERSION; }
uint64_t rde_now_ns(void) { return rde::now_ns(); }

int rde_parse_file_id(const char* text, rde_file_id* id, rde_error* error) {
  return rde::capi::guarded(error, [&]() -> rde::Result<void> {
    if (text == nullptr) return rde::capi::missing("text");
    if (id == nullptr) return rde::capi::missing("id");
    const auto parsed = rde::parse_file_id(text);
    if (!parsed) return parsed.error();
    *id = {.needle = parsed->key, .volume = parsed->volume, .cookie = parsed->cookie};
    return {};
  });
}

}  // extern "C"
