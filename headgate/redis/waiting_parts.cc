#include "headgate/redis/waiting_parts.h"

#include <algorithm>
#include <utility>

namespace headgate::redis {
namespace {

template <class Use>
void for_each_swapped(const Part& part, const Use& use) {
  for (std::size_t i = 0; i < part.keys.size(); ++i) {
    if (part.ways[i] == Part::Way::swapped) use(std::string(part.keys[i]));
  }
}

std::vector<std::string> swapped_keys(const Part& part) {
  std::vector<std::string> keys;
  for_each_swapped(part, [&](std::string key) { keys.push_back(std::move(key)); });
  return keys;
}

}  // namespace

WaitingParts::Next WaitingParts::add(std::shared_ptr<Part> part) {
  for_each_swapped(*part, [&](std::string key) {
    auto& parts = queues_[std::move(key)].parts;
    if (parts.empty() || parts.back() != part) parts.push_back(part);
  });
  return search(swapped_keys(*part));
}

WaitingParts::Next WaitingParts::release(std::span<const std::string> keys) {
  for (const std::string& key : keys) queues_.find(key)->second.in_exchange = false;
  return search({keys.begin(), keys.end()});
}

WaitingParts::Next WaitingParts::search(std::vector<std::string> keys) {
  Search search{std::move(keys), {}};
  while (!search.keys.empty()) {
    const std::string key = std::move(search.keys.back());
    search.keys.pop_back();
    const auto queue = queues_.find(key);
    if (queue == queues_.end() || queue->second.in_exchange) continue;
    const Part* const part = first(queue->second, search);
    if (part == nullptr) {
      queues_.erase(queue);
    } else if (is_next(*part, search)) {
      search.found.batches.push_back(gather(*part, search));
    }
  }
  return std::move(search.found);
}

Part* WaitingParts::first(Queue& queue, Search& search) {
  while (!queue.parts.empty() && !queue.parts.front()->has_charges()) {
    for_each_swapped(*queue.parts.front(),
                     [&](std::string key) { search.keys.push_back(std::move(key)); });
    search.found.unawaited.push_back(take(*queue.parts.front()));
  }
  return queue.parts.empty() ? nullptr : queue.parts.front().get();
}

bool WaitingParts::is_next(const Part& part, Search& search) {
  bool all = true;
  for_each_swapped(part, [&](const std::string& key) {
    Queue& queue = queues_.find(key)->second;
    all = all && !queue.in_exchange && first(queue, search) == &part;
  });
  return all;
}

std::shared_ptr<Part> WaitingParts::take(const Part& part) {
  std::shared_ptr<Part> taken;
  for_each_swapped(part, [&](const std::string& key) {
    auto& parts = queues_.find(key)->second.parts;
    const auto at = std::ranges::find(parts, &part, &std::shared_ptr<Part>::get);
    if (at == parts.end()) return;  // the key of two charges
    taken = std::move(*at);
    parts.erase(at);
  });
  return taken;
}

Batch WaitingParts::gather(const Part& part, Search& search) {
  Batch batch;
  batch.add(take(part));
  for (std::size_t i = 0; i < batch.swapped().size(); ++i) {
    Queue& queue = queues_.find(batch.swapped()[i])->second;
    for (;;) {
      const Part* const other = first(queue, search);
      if (other == nullptr || !batch.fits(*other) || !is_next(*other, search)) break;
      batch.add(take(*other));
    }
  }
  for (const std::string& key : batch.swapped()) queues_.find(key)->second.in_exchange = true;
  return batch;
}

}  // namespace headgate::redis
