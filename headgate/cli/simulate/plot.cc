#include "headgate/cli/simulate/plot.h"

#include <utility>

#include "headgate/cli/simulate/output_file.h"
#include "headgate/sim/log/lines.h"
#include "headgate/sim/report/trace_plot.h"
#include "headgate/store/table.h"

namespace headgate::cli {

Result<void, std::string> write_plot(const std::string& path,
                                     const std::shared_ptr<const policy::PolicySet>& policies,
                                     const std::vector<std::string>& logs) {
  std::vector<sim::TraceLine> trace;
  for (const std::string& log : logs) {
    if (log == "-") {
      return Failure<std::string>("--plot reads the trace again: expected a file, not -");
    }
    auto lines = sim::Lines::open(log);
    if (!lines) return Failure<std::string>(log + ": " + lines.error());
    if (const auto read = sim::read_trace(*lines, trace); !read) {
      return Failure<std::string>(log + ": cannot be plotted: " + read.error());
    }
  }
  store::TableOptions options;
  options.memory = std::size_t{16} << 20;  // a plot has a handful of keys
  options.sharing = store::Sharing::threads;
  options.clock = &store::ClockSource::still();  // the trace brings its own time
  options.wide_share = 16;
  options.ledger_share = 32;
  const auto table = store::Table::open(options);
  if (!table) return Failure<std::string>(table.error());
  auto figure = sim::plot_trace(policies, **table, trace);
  if (!figure) return Failure<std::string>("the trace cannot be plotted: " + figure.error());
  return write_output(path, sim::svg(*figure));
}

}  // namespace headgate::cli
