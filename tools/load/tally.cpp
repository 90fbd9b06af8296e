#include "load/tally.h"

namespace rde::tools {
namespace {

using Json = nlohmann::json;

// The plain numbers, by the name that they have in JSON.
template <class T>
auto numbers_of(T& tally) {
  return std::to_array<std::pair<const char*, decltype(&tally.requests)>>({
      {"requests", &tally.requests},
      {"bytes", &tally.bytes},
      {"bytes_verified", &tally.bytes_verified},
      {"objects_verified", &tally.objects_verified},
      {"wrong", &tally.wrong},
      {"engine_gone", &tally.engine_gone},
      {"reattached", &tally.reattached},
      {"not_sent", &tally.not_sent},
  });
}

Json histogram_json(const Histogram& histogram) {
  Json buckets = Json::array();
  histogram.for_each([&](std::size_t bucket, std::uint64_t times) { buckets.push_back({bucket, times}); });
  return {{"buckets", buckets}, {"min", histogram.min()}, {"max", histogram.max()}, {"sum", histogram.sum()}};
}

Histogram histogram_from(const Json& json) {
  Histogram histogram;
  for (const auto& pair : json.at("buckets")) {
    histogram.add_bucket(pair.at(0).get<std::size_t>(), pair.at(1).get<std::uint64_t>());
  }
  if (histogram.count() != 0) {
    histogram.add_bounds(json.at("min").get<std::uint64_t>(), json.at("max").get<std::uint64_t>(),
                         json.at("sum").get<double>());
  }
  return histogram;
}

}  // namespace

void Tally::merge(const Tally& other) {
  for (std::size_t i = 0; i < kOps; ++i) {
    ops[i].latency.merge(other.ops[i].latency);
    ops[i].failed += other.ops[i].failed;
  }
  for (const auto& [name, count] : other.errors) errors[name] += count;
  const auto mine = numbers_of(*this);
  const auto theirs = numbers_of(other);
  for (std::size_t i = 0; i < mine.size(); ++i) *mine[i].second += *theirs[i].second;
}

std::uint64_t Tally::done() const {
  std::uint64_t sum = 0;
  for (const auto& op : ops) sum += op.latency.count();
  return sum;
}

std::uint64_t Tally::failed() const {
  std::uint64_t sum = 0;
  for (const auto& op : ops) sum += op.failed;
  return sum;
}

Json to_json(const Tally& tally) {
  Json json;
  for (const auto& [name, number] : numbers_of(tally)) json[name] = *number;
  json["errors"] = tally.errors;
  for (std::size_t i = 0; i < kOps; ++i) {
    json["ops"][std::string(kOpNames[i])] = {{"latency", histogram_json(tally.ops[i].latency)},
                                             {"failed", tally.ops[i].failed}};
  }
  return json;
}

Result<Tally> tally_from_json(const Json& json) {
  Tally tally;
  try {
    for (const auto& [name, number] : numbers_of(tally)) *number = json.at(name).get<std::uint64_t>();
    json.at("errors").get_to(tally.errors);
    for (std::size_t i = 0; i < kOps; ++i) {
      const auto& op = json.at("ops").at(std::string(kOpNames[i]));
      tally.ops[i].latency = histogram_from(op.at("latency"));
      op.at("failed").get_to(tally.ops[i].failed);
    }
  } catch (const Json::exception& error) {
    return Error{Status::invalid_request, std::string("not the result of a worker: ") + error.what()};
  }
  return tally;
}

}  // namespace rde::tools
