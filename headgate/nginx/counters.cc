#include "headgate/nginx/counters.h"

#include <ctime>
#include <new>
#include <utility>

#include "headgate/store/region.h"

namespace headgate::nginx {
namespace {

std::shared_ptr<ModuleCounts> share_module_counts() {
  auto region = store::Region::anonymous(sizeof(ModuleCounts), store::Sharing::processes);
  if (!region) throw std::bad_alloc();
  const auto owner = std::make_shared<store::Region>(std::move(*region));
  return {owner,
          new (owner->bytes().data()) ModuleCounts(static_cast<std::uint64_t>(std::time(nullptr)))};
}

}  // namespace

std::shared_ptr<Counters> Counters::open(std::vector<std::string> names,
                                         const std::shared_ptr<Counters>& previous) {
  auto fresh = std::make_shared<Counters>();
  fresh->policies_ =
      gate::Counters::open(std::move(names), previous == nullptr ? nullptr : previous->policies_);
  fresh->module_ = previous == nullptr ? share_module_counts() : previous->module_;
  return fresh;
}

}  // namespace headgate::nginx
