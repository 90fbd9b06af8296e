// Every field of every message, just beside what it may be.
#include "peer/protocol.h"

#include <doctest/doctest.h>

#include <vector>

#include "rde_layout.h"

using namespace rde;

namespace {

// The message with one field overwritten, as bytes.
template <class M, class F>
std::vector<std::byte> with(const M& message, F M::*field, std::uint64_t value) {
  M changed = message;
  changed.*field = static_cast<F>(value);
  const auto bytes = wire::bytes_of(changed);
  return {bytes.begin(), bytes.end()};
}

template <class Parse>
void check_cuts(std::span<const std::byte> message, Parse parse) {
  REQUIRE(parse(message));
  for (std::size_t cut = 0; cut < message.size(); ++cut) {
    const std::vector<std::byte> part(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(cut));
    CHECK_FALSE(parse(std::span<const std::byte>(part)));
  }
}

constexpr unsigned long long kOnes = ~0ULL;

const wire::ReadyMessage kReady{wire::head_of<wire::ReadyMessage>(wire::kReady), 64, 1 << 20, 3, 10, 0};
const wire::RequestMessage kRead{
    .head = wire::head_of<wire::RequestMessage>(wire::kRead), .id = 1, .offset = 7, .length = 100};
const wire::DataHeader kData{.magic = wire::kDataMagic, .id = 1, .bytes = 5};
const wire::VolumesMessage kVolumes{wire::head_of<wire::VolumesMessage>(wire::kVolumes), 1, 0, 0, 0, 0};

}  // namespace

TEST_CASE("a head is checked for type, size and zero") {
  wire::PingMessage ping{wire::head_of<wire::PingMessage>(wire::kPing), 5};
  CHECK(wire::parse_head(wire::bytes_of(ping)));
  for (const auto type : std::initializer_list<std::uint16_t>{0, 17, 255, 65'535}) {
    ping.head.type = type;
    CHECK(wire::parse_head(wire::bytes_of(ping)).error().text.find("message.type is " + std::to_string(type)) == 0);
  }
  ping.head.type = wire::kPing;
  for (const auto size : std::initializer_list<std::uint16_t>{0, 15, 17, 65'535}) {
    ping.head.size = size;
    CHECK(wire::parse_head(wire::bytes_of(ping)).error().text.find("message.size is " + std::to_string(size)) == 0);
  }
  ping.head = {wire::kPing, sizeof(ping), 1};
  CHECK(wire::parse_head(wire::bytes_of(ping)).error().text.find("message.reserved") == 0);
}

TEST_CASE("READY gives credits, length and volumes within bounds") {
  using M = wire::ReadyMessage;
  CHECK(wire::parse_ready(wire::bytes_of(kReady)));
  for (const std::uint64_t credits : {0ULL, 4097ULL, kOnes})
    CHECK_FALSE(wire::parse_ready(with(kReady, &M::credits, credits)));
  for (const std::uint64_t length : {0ULL, 4095ULL, (1ULL << 30) + 1, kOnes}) {
    CHECK_FALSE(wire::parse_ready(with(kReady, &M::max_length, length)));
  }
  for (const std::uint64_t volumes : {(1ULL << 20) + 1, kOnes})
    CHECK_FALSE(wire::parse_ready(with(kReady, &M::volumes, volumes)));
  CHECK_FALSE(wire::parse_ready(with(kReady, &M::reserved, 1)));
  check_cuts(wire::bytes_of(kReady), wire::parse_ready);
}

TEST_CASE("a request has a length and known flags only") {
  using M = wire::RequestMessage;
  CHECK(wire::parse_request(wire::bytes_of(kRead)));
  CHECK(wire::parse_request(with(kRead, &M::flags, 3)));
  CHECK_FALSE(wire::parse_request(with(kRead, &M::flags, 4)));
  CHECK_FALSE(wire::parse_request(with(kRead, &M::flags, kOnes)));
  CHECK_FALSE(wire::parse_request(with(kRead, &M::length, 0)));
  CHECK_FALSE(wire::parse_request(with(kRead, &M::reserved, 1)));
  auto stat = kRead;
  stat.head.type = wire::kStat;
  CHECK(wire::parse_request(wire::bytes_of(stat)).error().text.find("request.offset is 7") == 0);
  check_cuts(wire::bytes_of(kRead), wire::parse_request);
}

TEST_CASE("the header of an answer is checked field by field") {
  using M = wire::DataHeader;
  CHECK(wire::parse_data(wire::bytes_of(kData)));
  CHECK_FALSE(wire::parse_data(with(kData, &M::magic, wire::kDataMagic + 1)));
  CHECK_FALSE(wire::parse_data(with(kData, &M::magic, 0)));
  CHECK_FALSE(wire::parse_data(with(kData, &M::status, 1)));  // no such status
  CHECK_FALSE(wire::parse_data(with(kData, &M::status, kOnes)));
  CHECK_FALSE(wire::parse_data(with(kData, &M::status, 201)));  // an error brings no bytes
  for (const std::uint64_t flags : {1ULL, 2ULL, 128ULL, kOnes})
    CHECK_FALSE(wire::parse_data(with(kData, &M::flags, flags)));
  CHECK_FALSE(wire::parse_data(with(kData, &M::reserved0, 1)));
  for (std::size_t i = 0; i < 3; ++i) {
    auto data = kData;
    data.reserved[i] = 1;
    CHECK_FALSE(wire::parse_data(wire::bytes_of(data)));
  }
  check_cuts(wire::bytes_of(kData), wire::parse_data);
}

TEST_CASE("a part of a volume list must fit its message and its list") {
  using M = wire::VolumesMessage;
  CHECK(wire::parse_volumes(wire::bytes_of(kVolumes)));
  for (const std::uint64_t count : {1ULL, 1017ULL, kOnes})
    CHECK_FALSE(wire::parse_volumes(with(kVolumes, &M::count, count)));
  for (const std::uint64_t total : {1ULL, (1ULL << 20) + 1, kOnes})
    CHECK_FALSE(wire::parse_volumes(with(kVolumes, &M::total, total)));
  CHECK_FALSE(wire::parse_volumes(with(kVolumes, &M::first, 1)));
  CHECK_FALSE(wire::parse_volumes(with(kVolumes, &M::first, kOnes)));
  CHECK_FALSE(wire::parse_volumes(with(kVolumes, &M::reserved, 1)));
  check_cuts(wire::bytes_of(kVolumes), wire::parse_volumes);
}

TEST_CASE("an error message has a known status and printable text, and any text can be sent") {
  auto error = wire::error_message({Status::peer_busy, "a line\nand \x01 more"});
  CHECK(wire::text_of(error.text) == "a line?and ? more");
  CHECK(wire::parse_error(wire::bytes_of(error)));
  CHECK_FALSE(wire::parse_error(with(error, &wire::ErrorMessage::status, 0)));
  CHECK_FALSE(wire::parse_error(with(error, &wire::ErrorMessage::status, 1)));
  error.text[3] = '\n';
  CHECK_FALSE(wire::parse_error(wire::bytes_of(error)));
  error = wire::error_message({Status::peer_busy, std::string(1000, 'x')});
  CHECK(wire::text_of(error.text).size() == 239);
  error.text.back() = 'x';
  CHECK_FALSE(wire::parse_error(wire::bytes_of(error)));
  error = wire::error_message({Status::peer_busy, "short"});
  error.text[100] = 'x';
  CHECK_FALSE(wire::parse_error(wire::bytes_of(error)));
  check_cuts(wire::bytes_of(wire::error_message({Status::peer_busy, "x"})), wire::parse_error);
}

TEST_CASE("messages without fields to check are checked for their size") {
  const wire::IdMessage id{wire::head_of<wire::IdMessage>(wire::kCancel), 1};
  check_cuts(wire::bytes_of(id), wire::parse_id);
  const wire::PingMessage ping{wire::head_of<wire::PingMessage>(wire::kPing), 1};
  check_cuts(wire::bytes_of(ping), wire::parse_ping);
  const wire::AuthMessage auth{wire::head_of<wire::AuthMessage>(wire::kAuth), {}};
  check_cuts(wire::bytes_of(auth), wire::parse_auth);
}
