// The table beside a std::unordered_map behind a mutex, with the same law: complete decisions with
// hash and clock, 20-byte keys, in random order. Prints nanoseconds per decision (the median of all
// rounds) and the median of the rounds' ratios: a round takes less than a second, in which the
// machine's speed seldom changes.
//
//   compare_table [ROUNDS=35] [laws|flood]     only that part: the algorithms; a full table

#include "headgate/store/table.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace headgate {
namespace {

constexpr std::size_t key_bytes = 20;
constexpr std::size_t keys = 1'000'000;
constexpr std::size_t decisions = 400'000;  // per round and variant
constexpr std::size_t parts = 5;            // of a stream, one per round
constexpr std::size_t batch = 16;

// A stream of keys "user:" and 15 digits, in consecutive memory: reading the keys is cheap, and
// only the limiter's state is a random access.
class Keys {
 public:
  Keys(std::size_t count, std::size_t distinct, std::uint64_t seed)
      : text_(count * key_bytes, '0') {
    std::uint64_t x = seed * 0x9e3779b97f4a7c15 | 1;
    for (std::size_t i = 0; i < count; ++i) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      write(i, distinct == 0 ? i : static_cast<std::uint64_t>(u128{x} * distinct >> 64));
    }
  }

  [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept {
    return {text_.data() + i * key_bytes, key_bytes};
  }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size() / key_bytes; }

 private:
  void write(std::size_t i, std::uint64_t number) {
    char* at = text_.data() + i * key_bytes;
    std::copy_n("user:", 5, at);
    for (std::size_t p = key_bytes - 1; p >= 5; --p, number /= 10) {
      at[p] = static_cast<char>('0' + number % 10);
    }
  }

  std::string text_;
};

// The same law and clock with a map behind a mutex, as most programs have it.
class MutexMap {
 public:
  explicit MutexMap(const limit::LinearWhole& law) : law_(law) {}

  bool spend(std::string_view key) {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    const Instant now{t.tv_sec * nanos_per_second + t.tv_nsec};
    const std::lock_guard lock(mutex_);
    auto found = map_.find(key);
    if (found == map_.end()) found = map_.emplace(std::string(key), 0).first;
    const auto step = law_.spend(found->second, 1, now);
    if (step.changed) found->second = step.state;
    return step.decision.admitted;
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const noexcept {
      return std::hash<std::string_view>()(key);
    }
  };

  limit::LinearWhole law_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> map_;
};

void spend_one_by_one(store::Table& table, const limit::Law& law, const Keys& stream,
                      std::size_t from, std::size_t to) {
  store::Charge charge{&law, {}, 1};
  limit::Decision decision;
  for (std::size_t i = from; i < to; ++i) {
    charge.key = stream[i];
    store::Bundle bundle{{&charge, 1}, {&decision, 1}};
    table.take({&bundle, 1}, table.now(), {});
    if (!decision.admitted) std::abort();
  }
}

void spend_in_batches(store::Table& table, const limit::Law& law, const Keys& stream,
                      std::size_t from, std::size_t to) {
  std::array<store::Charge, batch> charges;
  std::array<limit::Decision, batch> answers;
  std::array<store::Bundle, batch> bundles;
  charges.fill({&law, {}, 1});
  for (std::size_t i = from; i + batch <= to; i += batch) {
    for (std::size_t j = 0; j < batch; ++j) {
      charges[j].key = stream[i + j];
      bundles[j] = {{&charges[j], 1}, {&answers[j], 1}};
    }
    table.take(bundles, table.now(), {});
    for (const limit::Decision& answer : answers) {
      if (!answer.admitted) std::abort();
    }
  }
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Processor time of this thread: steadier than wall-clock time if the machine is shared.
double seconds_of(const std::function<void()>& work) {
  const auto read = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double begin = read();
  work();
  return read() - begin;
}

// Runs both halves on two cores at the same time, each with its own keys. Returns the slower one's
// time.
double seconds_of_two(const std::function<void(int)>& work) {
  std::atomic<int> ready{0};
  std::array<double, 2> seconds{};
  const auto run = [&](int core) {
    pin(core);
    ready.fetch_add(1);
    while (ready.load() < 2) sched_yield();
    seconds[static_cast<std::size_t>(core)] = seconds_of([&] { work(core); });
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  return std::max(seconds[0], seconds[1]);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Variant {
  const char* name;
  std::function<double(std::size_t from)>
      seconds;               // time of `decisions` decisions from this position of a stream
  std::vector<double> ns{};  // per decision, one value per round

  [[nodiscard]] double median() const { return median_of(ns); }
  // This variant's time divided by another one's.
  [[nodiscard]] double beside(const Variant& other) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ns.size(); ++i) ratios.push_back(ns[i] / other.ns[i]);
    return median_of(ratios);
  }
};

void take_turns(std::vector<Variant>& variants, int rounds) {
  pin(0);
  for (int round = 0; round < rounds; ++round) {
    const std::size_t from = static_cast<std::size_t>(round) % parts * decisions;
    for (Variant& variant : variants) {
      variant.ns.push_back(variant.seconds(from) * 1e9 / static_cast<double>(decisions));
    }
  }
}

void compare(int rounds) {
  const Keys all(keys, 0, 1);
  const Keys stream(parts * decisions, keys, 7);
  // Nothing is denied: a unit comes back in a millisecond, and a key is used far less often.
  const limit::Quota quota{1'000'000'000, Nanos{1'000'000'000} * 1'000'000};
  const limit::Law law = limit::make_law(quota, {}).value();
  auto table =
      store::Table::open({.memory = std::size_t{32} << 20, .sharing = store::Sharing::threads});
  auto shared = store::Table::open({.memory = std::size_t{32} << 20});
  if (!table || !shared) std::abort();
  MutexMap map(std::get<limit::LinearWhole>(law));
  for (std::size_t i = 0; i < all.size(); ++i) map.spend(all[i]);
  for (auto* t : {table->get(), shared->get()}) spend_one_by_one(*t, law, all, 0, all.size());

  const auto alone = [&](auto spend, store::Table& t) {
    return [&, spend](std::size_t from) {
      return seconds_of([&] { spend(t, law, stream, from, from + decisions); });
    };
  };
  const auto halves = [&](auto spend, store::Table& t) {
    return [&, spend](std::size_t from) {
      return seconds_of_two([&](int core) {
        const std::size_t half = decisions / 2;
        const std::size_t mine = from + static_cast<std::size_t>(core) * half;
        spend(t, law, stream, mine, mine + half);
      });
    };
  };
  std::vector<Variant> variants{
      {"mutex and std::unordered_map",
       [&](std::size_t from) {
         return seconds_of([&] {
           for (std::size_t i = 0; i < decisions; ++i) map.spend(stream[from + i]);
         });
       }},
      {"table", alone(spend_one_by_one, **table)},
      {"table, batches of 16", alone(spend_in_batches, **table)},
      {"table, two threads", halves(spend_one_by_one, **table)},
      {"table, two threads, batches of 16", halves(spend_in_batches, **table)},
      {"table between processes", alone(spend_one_by_one, **shared)},
      {"the same in batches of 16", alone(spend_in_batches, **shared)},
  };
  take_turns(variants, rounds);
  std::printf("1,000,000 keys of 20 bytes in random order, hash and clock included; %d rounds\n",
              rounds);
  for (const Variant& variant : variants) {
    std::printf("%-40s %7.1f ns a decision, %5.1fx\n", variant.name, variant.median(),
                variants[0].beside(variant));
  }
  std::printf("two threads beside one: %.2fx, in batches %.2fx\n", variants[1].beside(variants[3]),
              variants[2].beside(variants[4]));
}

// All laws, each with a table that its keys fill by about half.
void algorithms(int rounds) {
  struct Law {
    const char* name;
    limit::Algorithm algorithm;
    std::size_t mebibytes;
    unsigned ledger_share;
    unsigned log_share;
    std::size_t bytes;  // per key
  };
  using limit::Algorithm;
  // The bytes that one entry, or one block of a log, adds to a page of the ledger.
  const std::size_t entry = (store::Page::bytes(2048, 0) - store::Page::bytes(1024, 0)) / 1024;
  const std::size_t block = (store::Page::bytes(1024, 1024) - store::Page::bytes(1024, 0)) / 1024;
  const std::array laws{
      Law{"linear", Algorithm::linear, 32, 1, 1, sizeof(store::NarrowCell)},
      Law{"exponential", Algorithm::exponential, 80, 62, 1, entry},
      Law{"fixed-window", Algorithm::fixed_window, 80, 62, 1, entry},
      Law{"sliding-window-counter", Algorithm::sliding_window_counter, 80, 62, 1, entry},
      Law{"moving-window, 1 to 7 requests a key", Algorithm::moving_window, 320, 62, 48,
          entry + block},
      Law{"concurrency", Algorithm::concurrency, 320, 62, 48, entry + block},
  };
  const Keys all(keys, 0, 1);
  const Keys stream(parts * decisions, keys, 7);
  std::vector<limit::Law> made;
  std::vector<std::unique_ptr<store::Table>> tables;
  std::vector<Variant> variants;
  for (const Law& law : laws) {
    made.push_back(limit::make_law({1'000'000'000, Nanos{1'000'000'000} * 1'000'000},
                                   {.algorithm = law.algorithm, .log = 7})
                       .value());
    auto table = store::Table::open({.memory = law.mebibytes << 20,
                                     .sharing = store::Sharing::threads,
                                     .ledger_share = law.ledger_share,
                                     .log_share = law.log_share});
    if (!table) std::abort();
    tables.push_back(*std::move(table));
    spend_one_by_one(*tables.back(), made.back(), all, 0, all.size());
  }
  for (std::size_t i = 0; i < laws.size(); ++i) {
    variants.push_back({laws[i].name, [&, i](std::size_t from) {
                          return seconds_of([&] {
                            spend_one_by_one(*tables[i], made[i], stream, from, from + decisions);
                          });
                        }});
  }
  take_turns(variants, rounds);
  std::printf("\nevery law, 1,000,000 keys\n");
  for (std::size_t i = 0; i < laws.size(); ++i) {
    std::printf("%-40s %7.1f ns a decision, %5.2f of linear, %3zu bytes a key\n", laws[i].name,
                variants[i].median(), variants[i].beside(variants[0]), laws[i].bytes);
  }
}

// One key whose log is full, so that each admitted request merges two of its records.
void full_logs(int rounds) {
  constexpr int spends = 1000;
  double least = 0;  // ns a decision, of the shortest log
  std::printf("\nmoving-window, one key whose log is full\n");
  for (const std::uint32_t records : {512U, 1024U, 2048U, 4096U, 8192U}) {
    const limit::Law law =
        limit::make_law({1'000'000'000, nanos_per_second * 1'000'000},
                        {.algorithm = limit::Algorithm::moving_window, .log = records})
            .value();
    auto table = store::Table::open({.memory = std::size_t{64} << 20,
                                     .sharing = store::Sharing::threads,
                                     .ledger_share = 62,
                                     .log_share = 48});
    if (!table) std::abort();
    const Keys one(1, 1, 1);
    for (std::uint32_t i = 0; i < records; ++i) spend_one_by_one(**table, law, one, 0, 1);
    std::vector<double> ns;
    for (int round = 0; round < rounds; ++round) {
      const double took = seconds_of([&] {
        for (int i = 0; i < spends; ++i) spend_one_by_one(**table, law, one, 0, 1);
      });
      ns.push_back(took * 1e9 / spends);
    }
    const double median = median_of(ns);
    if (least == 0) least = median;
    std::printf("%5u records %10.1f ns a decision, %6.2fx, %5.2f ns a record\n", records, median,
                median / least, median / records);
  }
}

// How many of ten million live keys have no place in 256 MiB.
void fill() {
  constexpr std::size_t many = 10'000'000;
  auto table =
      store::Table::open({.memory = std::size_t{256} << 20, .sharing = store::Sharing::threads});
  if (!table) std::abort();
  const limit::Law law = limit::make_law({3600, 3600 * nanos_per_second}, {}).value();
  const Instant now = (*table)->now();
  std::string key(key_bytes, '0');
  store::Charge charge{&law, key, 1000};
  limit::Decision decision;
  const double took = seconds_of([&] {
    for (std::size_t i = 0; i < many; ++i) {
      std::snprintf(key.data(), key.size() + 1, "user:%015zu", i);
      charge.key = key;
      store::Bundle bundle{{&charge, 1}, {&decision, 1}};
      (*table)->take({&bundle, 1}, now, {});
    }
  });
  const store::TableStats stats = (*table)->stats();
  std::printf(
      "10,000,000 live keys in 256 MiB: %llu without a place (%.4f %%), %.0f ns an insert\n",
      static_cast<unsigned long long>(stats.unkept),
      100.0 * static_cast<double>(stats.unkept) / many, took * 1e9 / static_cast<double>(many));
}

// What share of the newcomers is denied while new keys arrive faster than the table can keep them.
// In virtual time: three minutes of keys that send one request each, of which every hundredth of
// the last minute is counted as a newcomer.
void flood() {
  constexpr Nanos minute = 60 * nanos_per_second;
  constexpr std::uint64_t quota = 100;
  const limit::Law law = limit::make_law({quota, minute}, {}).value();
  std::printf("\na flood of new keys in 1 MiB, 100 units per minute\n");
  for (const std::uint64_t cost : {std::uint64_t{1}, quota / 10, quota}) {
    for (const double load : {0.5, 1.0, 2.0, 4.0, 10.0}) {
      auto table = store::Table::open({.memory = std::size_t{1} << 20,
                                       .sharing = store::Sharing::threads,
                                       .clock = &store::ClockSource::still()});
      if (!table) std::abort();
      // A key keeps its place for at most about two windows: 2^36 ns after its quota is full.
      const Nanos kept = (Nanos{1} << 36) + minute * static_cast<Nanos>(cost) / quota;
      const double room = static_cast<double>((*table)->stats().cells());
      const auto flood_keys = static_cast<std::uint64_t>(
          load * room * static_cast<double>(3 * minute) / static_cast<double>(kept));
      std::uint64_t newcomers = 0;
      std::uint64_t denied = 0;
      limit::Decision decision;
      const double took = seconds_of([&] {
        for (std::uint64_t i = 0; i < flood_keys; ++i) {
          const Instant now{minute +
                            3 * minute * static_cast<Nanos>(i) / static_cast<Nanos>(flood_keys)};
          const bool newcomer = i % 100 == 0 && i > 2 * flood_keys / 3;
          const std::string key = std::to_string(i);
          const store::Charge charge{&law, key, newcomer ? 1 : cost};
          store::Bundle bundle{{&charge, 1}, {&decision, 1}};
          (*table)->take({&bundle, 1}, now, {});
          if (!newcomer) continue;
          ++newcomers;
          if (!decision.admitted) ++denied;
        }
      });
      const double all = static_cast<double>(flood_keys);
      std::printf(
          "%4.1f times the room, %3llu units each: %5.1f %% of newcomers denied, %5.1f %% of "
          "decisions without a place, %3.0f ns a decision\n",
          load, static_cast<unsigned long long>(cost),
          100.0 * static_cast<double>(denied) / static_cast<double>(newcomers),
          100.0 * static_cast<double>((*table)->stats().unkept) / all, took * 1e9 / all);
    }
  }
}

void open_file() {
  std::string path = "/tmp/headgate-bench-XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0) std::abort();
  close(descriptor);
  for (const std::size_t mib : {16, 256, 1024}) {
    unlink(path.c_str());
    const store::TableOptions options{.memory = mib << 20, .file = path};
    const double make = seconds_of([&] {
      if (!store::Table::open(options)) std::abort();
    });
    const double join = seconds_of([&] {
      if (!store::Table::open(options)) std::abort();
    });
    std::printf("a table file of %4zu MiB: made in %.2f ms, opened in %.2f ms\n", mib, make * 1e3,
                join * 1e3);
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace headgate

int main(int argc, char** argv) {
  const int rounds = std::max(1, argc > 1 ? std::atoi(argv[1]) : 35);
  if (argc > 2 && std::string_view(argv[2]) == "laws") {
    headgate::algorithms(rounds);
    headgate::full_logs(rounds);
    return 0;
  }
  if (argc > 2 && std::string_view(argv[2]) == "flood") {
    headgate::flood();
    return 0;
  }
  headgate::compare(rounds);
  headgate::algorithms(rounds);
  headgate::full_logs(rounds);
  headgate::fill();
  headgate::flood();
  headgate::open_file();
}
