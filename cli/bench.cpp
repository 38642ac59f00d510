// SPDX-License-Identifier: Apache-2.0
// Why: `kinglet bench`: speed, memory and allocations of one model, measured the way docs/benchmarks.md reports them.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/allocation_count.h"
#include "cli/command.h"
#include "cli/made_input.h"
#include "cli/model_options.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/session/model.h"
#include "engine/session/thread_pool.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  ModelOptions model;
  int warmup = 5;
  int runs = 100;
  double seconds = 0;
  bool nodes = false;
  std::string against;
  bool half = false;
  bool xnnpack = false;
  std::string packed;  // a folder
};

struct NodeTime {
  double sum_us = 0;
};

struct Measured {
  double load_ms = 0;
  double first_run_ms = 0;
  std::vector<double> runs_ms;  // sorted
  std::uint64_t allocations = 0;
  std::int64_t sleeps = 0;  // of all threads: how often one gave its core away to wait
  std::uint64_t peak_bytes = 0;
  double alone_ratio = 0;  // share of the operators that one thread did because more did not pay
  std::vector<NodeTime> nodes;

  [[nodiscard]] double percentile(double p) const {
    const double rank = p / 100 * static_cast<double>(runs_ms.size() - 1);
    return runs_ms[static_cast<std::size_t>(std::lround(rank))];
  }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const double ms : runs_ms) sum += ms;
    return sum / static_cast<double>(runs_ms.size());
  }
  [[nodiscard]] double per_run(auto count) const {
    return static_cast<double>(count) / static_cast<double>(runs_ms.size());
  }
};

// VmHWM: the largest resident size of this process so far; 0 where /proc is missing.
std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  }
  return 0;
}

// Of all threads, those that have ended as well; 0 where the system does not say.
std::int64_t sleeps_so_far() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nvcsw : 0;
}

Result<void> fill_inputs(engine::Session& session) {
  std::mt19937 random(1);
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    KINGLET_TRY(session.set_input(i, made_tensor(session.inputs()[i], random)));
  }
  return {};
}

// No run of those that find out whether several threads pay is measured, but for later ones; `--warmup 0` is none.
Result<void> warm_up(engine::Session& session, const Options& options) {
  for (int i = 0; i < options.warmup || (options.warmup > 0 && session.is_trying()); ++i) KINGLET_TRY(session.run());
  return {};
}

double ms_since(SteadyTime start) { return to_ms(SteadyClock::now() - start).count(); }

Result<void> measure(engine::Session& session, const Options& options, Measured& out, Output& output) {
  const SteadyTime start = SteadyClock::now();
  const std::size_t wanted = static_cast<std::size_t>(options.runs);
  out.runs_ms.reserve(options.seconds > 0 ? std::size_t{1} << 20 : wanted);
  out.nodes.resize(session.plan().steps.size());
  const std::int64_t slept_before = sleeps_so_far();
  const std::uint64_t before = allocations().count;
  std::uint64_t foreign = 0;  // allocations of this loop's own progress line
  while (options.seconds > 0 ? ms_since(start) < options.seconds * 1000 && out.runs_ms.size() < out.runs_ms.capacity()
                             : out.runs_ms.size() < wanted) {
    const SteadyTime begin = SteadyClock::now();
    KINGLET_TRY(session.run());
    out.runs_ms.push_back(ms_since(begin));
    if (options.nodes) {
      for (std::size_t i = 0; i < out.nodes.size(); ++i) out.nodes[i].sum_us += session.plan().steps[i].last_us;
    }
    if (options.seconds == 0 && out.runs_ms.size() % 16 == 0) {
      const std::uint64_t mark = allocations().count;
      output.progress("running", out.runs_ms.size(), wanted);
      foreign += allocations().count - mark;
    }
  }
  out.allocations = allocations().count - before - foreign;
  out.sleeps = sleeps_so_far() - slept_before;
  std::ranges::sort(out.runs_ms);
  return {};
}

Json to_json(const Measured& measured, const engine::Session& session, const Options& options) {
  Json out{{"model", options.model.model},
           {"threads", thread_count(options.model)},
           {"runs", measured.runs_ms.size()},
           {"load_ms", measured.load_ms},
           {"first_run_ms", measured.first_run_ms},
           {"latency_ms",
            {{"min", measured.runs_ms.front()},
             {"mean", measured.mean()},
             {"p50", measured.percentile(50)},
             {"p90", measured.percentile(90)},
             {"p99", measured.percentile(99)},
             {"max", measured.runs_ms.back()}}},
           {"images_per_second", 1000 / measured.mean()},
           {"alone_ratio", measured.alone_ratio},
           {"sleeps_per_run", measured.per_run(measured.sleeps)},
           {"memory", {{"peak_bytes", measured.peak_bytes}}}};
  if (const engine::KeptInfo& kept = session.plan().kept; !options.packed.empty())
    out["packed"] = {{"found", kept.found}, {"bytes", kept.bytes}, {"problem", kept.problem}};
  if (allocations_are_counted() && !options.nodes) {  // reading the times of the nodes allocates
    out["allocations_per_run"] = measured.per_run(measured.allocations);
  }
  if (!options.nodes) return out;
  out["nodes"] = Json::array();
  for (std::size_t i = 0; i < measured.nodes.size(); ++i) {
    const engine::StepInfo& step = session.plan().steps[i];
    out["nodes"].push_back({{"name", step.name},
                            {"operator", step.op_type},
                            {"backend", step.backend},
                            {"mean_ms", measured.nodes[i].sum_us / 1000 / static_cast<double>(measured.runs_ms.size())},
                            {"macs", step.macs}});
  }
  return out;
}

void print_nodes(const Measured& measured, const engine::Session& session, Output& out) {
  double total = 0;
  for (const NodeTime& node : measured.nodes) total += node.sum_us;
  Table table({">MS", ">SHARE", ">GMAC/S", "NODE", "OPERATOR", "BY", "OUTPUT"});
  for (std::size_t i = 0; i < measured.nodes.size(); ++i) {
    const engine::StepInfo& step = session.plan().steps[i];
    const double ms = measured.nodes[i].sum_us / 1000 / static_cast<double>(measured.runs_ms.size());
    const bool has_rate = step.macs > 0 && ms > 0;
    table.add({format_text("{:.3f}", ms),
               format_text("{:.1f} %", 100 * measured.nodes[i].sum_us / std::max(total, 1e-9)),
               has_rate ? format_text("{:.1f}", static_cast<double>(step.macs) / ms / 1e6) : "", step.name,
               step.op_type, step.backend, step.output_shape});
  }
  out.print("\n" + table.text(out));
}

void print_text(const Measured& measured, const engine::Session& session, const Options& options, Output& out) {
  out.print(format_text("{}, {} thread{}, {} runs\n", options.model.model, thread_count(options.model),
                        thread_count(options.model) == 1 ? "" : "s", measured.runs_ms.size()));
  out.print(format_text("load {:.1f} ms, first run {:.1f} ms\n", measured.load_ms, measured.first_run_ms));
  if (const engine::KeptInfo& kept = session.plan().kept; !options.packed.empty()) {
    out.print(format_text("packed weights: {}{}\n",
                          kept.found       ? "found, "
                          : kept.bytes > 0 ? "kept, "
                                           : "not kept ",
                          kept.bytes > 0 ? human_bytes(kept.bytes) : kept.problem));
  }
  Table table({">MIN MS", ">P50", ">P90", ">P99", ">MAX", ">IMAGES/S"});
  table.add({format_text("{:.3f}", measured.runs_ms.front()), format_text("{:.3f}", measured.percentile(50)),
             format_text("{:.3f}", measured.percentile(90)), format_text("{:.3f}", measured.percentile(99)),
             format_text("{:.3f}", measured.runs_ms.back()), format_text("{:.1f}", 1000 / measured.mean())});
  out.print(table.text(out));
  if (measured.alone_ratio > 0) {
    out.print(format_text("one thread did {:.0f} % of the operators: more would not have been quicker\n",
                          std::ceil(100 * measured.alone_ratio)));
  }
  out.print(format_text("peak memory {}\n", human_bytes(measured.peak_bytes)));
  if (allocations_are_counted() && !options.nodes) {  // reading the times of the nodes allocates
    out.print(format_text("allocations per run {:.2f}\n", measured.per_run(measured.allocations)));
  }
  out.print(format_text("sleeps per run {:.2f}\n", measured.per_run(measured.sleeps)));
  if (options.nodes) print_nodes(measured, session, out);
}

// Two models in turns, so that whatever else the machine does hits both alike.
struct Duel {
  std::vector<double> model_ms, against_ms;  // sorted
  std::vector<double> ratios;                // of each round's medians, against / model; sorted
};

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Result<Duel> duel(engine::Session& model, engine::Session& against, const Options& options, Output& out) {
  constexpr int kRounds = 10;
  Duel result;
  const auto round_of = [&](engine::Session& session, int runs, std::vector<double>& all) -> Result<double> {
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) {
      const SteadyTime begin = SteadyClock::now();
      KINGLET_TRY(session.run());
      times.push_back(ms_since(begin));
    }
    all.insert(all.end(), times.begin(), times.end());
    return median_of(std::move(times));
  };
  const int rounds = std::min(kRounds, options.runs);
  for (int round = 0; round < rounds; ++round) {
    const int runs = options.runs / rounds + (round < options.runs % rounds ? 1 : 0);
    double ours = 0;
    double theirs = 0;
    for (const bool is_model : {round % 2 == 0, round % 2 != 0}) {
      if (is_model) {
        ours = KINGLET_TRY(round_of(model, runs, result.model_ms));
      } else {
        theirs = KINGLET_TRY(round_of(against, runs, result.against_ms));
      }
    }
    result.ratios.push_back(theirs / ours);
    out.progress("running", static_cast<std::uint64_t>(round) + 1, static_cast<std::uint64_t>(rounds));
  }
  out.end_progress();
  for (auto* values : {&result.model_ms, &result.against_ms, &result.ratios}) std::ranges::sort(*values);
  return result;
}

double percentile_of(const std::vector<double>& sorted, double p) {
  return sorted[static_cast<std::size_t>(std::lround(p / 100 * static_cast<double>(sorted.size() - 1)))];
}

Json latency_json(const std::vector<double>& sorted) {
  return {{"min", sorted.front()},
          {"p50", percentile_of(sorted, 50)},
          {"p90", percentile_of(sorted, 90)},
          {"p99", percentile_of(sorted, 99)},
          {"max", sorted.back()}};
}

void print_duel(const Duel& duel, const Options& options, Output& out) {
  if (out.json()) {
    out.print_json(
        {{"model", options.model.model},
         {"against", options.against},
         {"threads", thread_count(options.model)},
         {"runs", duel.model_ms.size()},
         {"latency_ms", latency_json(duel.model_ms)},
         {"against_latency_ms", latency_json(duel.against_ms)},
         {"ratio",
          {{"p50", percentile_of(duel.ratios, 50)}, {"min", duel.ratios.front()}, {"max", duel.ratios.back()}}},
         {"memory", {{"peak_bytes", peak_resident_bytes()}}}});
    return;
  }
  Table table({"MODEL", ">MIN MS", ">P50", ">P90", ">P99", ">MAX"});
  for (const auto& [name, times] :
       {std::pair(&options.model.model, &duel.model_ms), std::pair(&options.against, &duel.against_ms)}) {
    table.add({printable(*name, 60), format_text("{:.3f}", times->front()),
               format_text("{:.3f}", percentile_of(*times, 50)), format_text("{:.3f}", percentile_of(*times, 90)),
               format_text("{:.3f}", percentile_of(*times, 99)), format_text("{:.3f}", times->back())});
  }
  out.print(table.text(out));
  out.print(format_text("ratio {:.3f} (above 1: the first is faster), {:.3f} to {:.3f} over {} rounds, {} thread{}\n",
                        percentile_of(duel.ratios, 50), duel.ratios.front(), duel.ratios.back(), duel.ratios.size(),
                        thread_count(options.model), thread_count(options.model) == 1 ? "" : "s"));
}

Result<int> bench_against(const Options& options, Output& out) {
  ModelOptions both = options.model;
  KINGLET_TRY(share_workers(both));
  engine::SessionOptions of_both = session_options(both);
  of_both.half = options.half;
  of_both.own_kernels = !options.xnnpack;
  engine::Session model = KINGLET_TRY(engine::Session::open(options.model.model, of_both));
  engine::Session against = KINGLET_TRY(engine::Session::open(options.against, of_both));
  for (engine::Session* session : {&model, &against}) {
    KINGLET_TRY(fill_inputs(*session));
    KINGLET_TRY(session->run());
    KINGLET_TRY(warm_up(*session, options));
  }
  print_duel(KINGLET_TRY(duel(model, against, options, out)), options, out);
  return 0;
}

Result<int> bench(const Options& options, Output& out) {
  if (!options.against.empty()) return bench_against(options, out);
  Measured measured;
  ModelOptions model = options.model;
  KINGLET_TRY(share_workers(model));
  engine::SessionOptions session_with = session_options(model);
  session_with.time_nodes = options.nodes;
  session_with.half = options.half;
  session_with.own_kernels = !options.xnnpack;
  if (!options.packed.empty()) {
    session_with.weights = KINGLET_TRY(engine::WeightsFolder::of(options.packed, model.model));
  }
  SteadyTime start = SteadyClock::now();
  engine::Session session = KINGLET_TRY(engine::Session::open(model.model, session_with));
  measured.load_ms = ms_since(start);
  KINGLET_TRY(fill_inputs(session));
  start = SteadyClock::now();
  KINGLET_TRY(session.run());
  measured.first_run_ms = ms_since(start);
  KINGLET_TRY(warm_up(session, options));
  KINGLET_TRY(measure(session, options, measured, out));
  out.end_progress();
  measured.peak_bytes = peak_resident_bytes();
  measured.alone_ratio = model.pool->facts().alone_ratio();
  if (out.json()) {
    out.print_json(to_json(measured, session, options));
  } else {
    print_text(measured, session, options, out);
  }
  return 0;
}

}  // namespace

Body bench_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  add_model_argument(app, options->model);
  add_threads_option(app, options->model);
  app.add_option("--warmup", options->warmup, "runs before measuring (default 5)")
      ->check(CLI::Range(0, 10'000))
      ->option_text("N");
  auto* runs = app.add_option("--runs", options->runs, "measured runs (default 100)")
                   ->check(CLI::Range(1, 1'000'000))
                   ->option_text("N");
  auto* seconds = app.add_option("--seconds", options->seconds, "measure for so long instead")
                      ->check(CLI::Range(0.1, 3600.0))
                      ->excludes(runs)
                      ->option_text("S");
  app.add_flag("--float16", options->half,
               "compute in float16, where the processor has its arithmetic (Raspberry Pi 5)");
  app.add_flag("--xnnpack", options->xnnpack, "by XNNPACK alone, without kinglet's own kernels");
  app.add_option("--packed", options->packed, "a folder that keeps packed weights, as the daemon does: measure twice")
      ->type_name("FOLDER");
  auto* nodes = app.add_flag("--nodes", options->nodes, "time every step of the plan (a few percent slower)");
  app.add_option("--against", options->against, "measure this model, too, in turns, and give the ratio")
      ->type_name("FILE")
      ->excludes(seconds)
      ->excludes(nodes);
  return [options](Output& out) { return bench(*options, out); };
}

}  // namespace kinglet::cli
