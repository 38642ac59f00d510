// SPDX-License-Identifier: Apache-2.0
// Loading and planning of a session. Running is engine/session/session_state.h's.
#include "engine/session/session.h"

#include <malloc.h>

#include <algorithm>

#include "engine/backend/xnnpack/processor.h"
#include "engine/base/clock.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "engine/ops/levels.h"
#include "engine/ops/op.h"
#include "engine/passes/runner.h"
#include "engine/plan/needs.h"
#include "engine/session/build_and_processor.h"
#include "engine/session/integer_inputs.h"
#include "engine/session/kept_weights.h"
#include "engine/session/model.h"
#include "engine/session/session_state.h"

namespace kinglet::engine {
namespace {

// What every plan needs, also when nothing is to be optimised: numbers that are known are not computed at each run.
const std::set<std::string>& needed_passes() {
  static const std::set<std::string> names{"fold_shapes", "fold_constants", "fold_large_constants",
                                           "eliminate_dead_nodes"};
  return names;
}

Result<void> bind_inputs(Graph& graph, std::int64_t batch) {
  if (batch < 1) return fail(ErrorCode::kUsage, format_text("batch is {}, expected at least 1", batch));
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i].value);
    if (!value.shape) {
      return fail(ErrorCode::kBadData, format_text("input \"{}\" has no shape", value.name), {},
                  "export the model with fixed input sizes");
    }
    Shape shape = *value.shape;
    if (!shape.empty() && shape[0] == kUnknownDim) shape[0] = batch;
    if (!is_static(shape)) {
      return fail(ErrorCode::kBadData,
                  format_text("input \"{}\" is {}: sizes besides the batch are free", value.name, to_string(shape)), {},
                  "export the model with fixed input sizes");
    }
    if (std::ranges::find(shape, 0) != shape.end()) {
      return fail(ErrorCode::kBadData, format_text("input \"{}\" is {}: a size is 0", value.name, to_string(shape)));
    }
    graph.set_input_shape(i, std::move(shape));
  }
  return {};
}

// Room for the rows of what makes as many as its numbers say. Only at the end of a model: what reads them would take
// those that are not there for rows.
Result<void> give_room_for_rows(Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const Op* op = find_op(node.domain, node.op_type);
    if (op == nullptr || op->most_rows == nullptr) continue;
    const ValueId output = node.outputs.front();
    if (!graph.consumers(output).empty()) {
      return fail(ErrorCode::kUnsupported, "how many rows it gives depends on its numbers, and other nodes read them",
                  format_text("node \"{}\" ({})", printable(node.name), node.op_type),
                  format_text("end the model there: kinglet edit MODEL -o NEW extract --to {}",
                              printable(graph.value(output).name)));
    }
    const auto rows = op->most_rows(graph, node);
    Shape shape = graph.value(output).shape.value_or(Shape{});
    if (!rows || shape.empty() || shape[0] != kUnknownDim) continue;
    shape[0] = *rows;
    graph.set_type_and_shape(output, graph.value(output).type, std::move(shape));
  }
  return {};
}

// `options` with a memory limit. Gives what the file's own operators say of the outputs, before passes rewrite them.
Result<std::vector<OutputForm>> prepare(Graph& graph, const SessionOptions& options) {
  KINGLET_TRY(bind_inputs(graph, options.batch));
  KINGLET_TRY(infer_shapes(graph));
  std::vector<OutputForm> forms = engine::output_forms(graph, kRowRules);
  PassOptions passes;
  passes.fold_memory = *options.memory_limit / 2;  // XNNPACK packs a second copy
  passes.for_session = true;
  passes.skip = options.skipped_passes;
  if (!options.optimize) passes.only = needed_passes();
  KINGLET_TRY(run_passes(graph, passes));
  KINGLET_TRY(give_room_for_rows(graph));
  KINGLET_TRY(check_needs(graph, *options.memory_limit));
  return forms;
}

// All that packed weights depend on.
std::string key_of(const SessionOptions& options) {
  std::string key =
      format_text("{}\n{}\n{} {} {} {} {} {} {}\n", options.weights->digest, build_and_processor(), options.optimize,
                  options.own_kernels, options.half, options.half_everywhere, options.integer_inputs, options.batch,
                  options.pool ? options.pool->threads() : options.threads);
  if (options.memory_limit) key += format_text("memory {}\n", *options.memory_limit);
  for (const auto* names : {&options.disabled_lowerings, &options.forced_kernels, &options.skipped_passes}) {
    for (const std::string& name : *names) key += name + " ";
    key += "\n";
  }
  return key;
}

}  // namespace

Result<WeightsFolder> WeightsFolder::of(std::filesystem::path folder, const std::filesystem::path& model) {
  std::string stamp = stamp_of_file(model);
  return WeightsFolder{
      .folder = std::move(folder), .digest = KINGLET_TRY(file_digest(model)), .stamp = std::move(stamp)};
}

bool Session::half_arithmetic() { return xnn::half_arithmetic(); }

Result<Session> Session::open(const std::filesystem::path& model, const SessionOptions& options) {
  const SteadyTime start = SteadyClock::now();
  Result<Session> session =
      options.weights ? open_kept(model, options) : open_packed(model, options, packed_in_memory());
  ::malloc_trim(0);  // a run takes no memory: what loading has left in the heap would lie there for good
  if (session) session->state_->info.load_time = to_ms(SteadyClock::now() - start);
  return session;
}

Result<Session> Session::open_packed(const std::filesystem::path& model, const SessionOptions& options,
                                     std::unique_ptr<PackedWeights> packed) {
  LateModel late = KINGLET_TRY(open_model_late(model));
  Result<Session> session = make(std::move(late.graph), options, std::move(packed));
  KINGLET_TRY(late.numbers->outcome());
  if (!session) return std::unexpected(with_context(std::move(session).error(), model.string()));
  return session;
}

Result<Session> Session::open_kept(const std::filesystem::path& model, const SessionOptions& options) {
  const KeptFile file(options.weights->folder, key_of(options));
  if (Result<std::unique_ptr<FoundWeights>> found = FoundWeights::open(file)) {
    const FoundWeights* weights = found->get();
    const KeptInfo info{.found = true, .bytes = weights->bytes(), .problem = {}};
    Result<Session> session = open_packed(model, options, *std::move(found));
    // Of another model there the graph may be as it was, and its biases others.
    const bool same_model = stamp_of_file(model) == options.weights->stamp;
    if (session && weights->fits() && same_model) {
      file.touch();
      session->state_->info.kept = info;
      return session;
    }
    if (session && same_model) file.remove();
  } else if (found.error().code == ErrorCode::kBadData) {
    file.remove();
  }
  // The digest says nothing of what lies beside the model.
  const Result<std::vector<std::string>> beside = data_files_of(model);
  if (!beside || !beside->empty()) return open_packed(model, options, packed_in_memory());
  std::error_code unknown;
  if (std::filesystem::file_size(model, unknown) > KeptFile::kMostBytes && !unknown) {
    Session session = KINGLET_TRY(open_packed(model, options, packed_in_memory()));
    session.state_->info.kept.problem =
        format_text("its weights take more than the {} MB that the folder may have", KeptFile::kMostBytes >> 20);
    return session;
  }
  Result<void> kept;
  {
    auto written = std::make_unique<WrittenWeights>(file);
    WrittenWeights* weights = written.get();
    Session session = KINGLET_TRY(open_packed(model, options, std::move(written)));
    const Result<std::string> digest = file_digest(model);
    kept = digest && *digest == options.weights->digest
               ? weights->finish()
               : fail(ErrorCode::kUnavailable, "the model changed while it was loaded", model.string());
    session.state_->info.kept.bytes = weights->bytes();
    if (kept) return session;
    weights->discard();
    if (weights->bytes() == 0) {  // all of it lies in memory
      session.state_->info.kept.problem = describe(kept.error());
      return session;
    }
  }
  // A full disk gets back what lies there already.
  Session session = KINGLET_TRY(open_packed(model, options, packed_in_memory()));
  session.state_->info.kept.problem = describe(kept.error());
  return session;
}

Result<Session> Session::create(Graph graph, const SessionOptions& options) {
  return make(std::move(graph), options, packed_in_memory());
}

Result<Session> Session::make(Graph graph, const SessionOptions& options, std::unique_ptr<PackedWeights> packed) {
  const SteadyTime start = SteadyClock::now();
  if (options.threads < 1)
    return fail(ErrorCode::kUsage, format_text("threads is {}, expected at least 1", options.threads));
  if (options.half && !half_arithmetic()) {
    return fail(ErrorCode::kUnavailable, "this processor has no float16 arithmetic", {},
                "a Raspberry Pi 5 (Cortex-A76) has it; others compute in float32");
  }
  auto state = std::make_unique<State>();
  state->info.nodes_in_file = graph.node_count();
  SessionOptions limited = options;
  if (!limited.memory_limit) limited.memory_limit = memory_limit_of(graph);
  state->output_forms = KINGLET_TRY(prepare(graph, limited));
  if (options.integer_inputs) state->held_inputs = take_integer_inputs(graph);
  state->info.nodes_after_passes = graph.node_count();
  KINGLET_TRY(state->build(std::move(graph), limited, std::move(packed)));
  state->info.load_time = to_ms(SteadyClock::now() - start);
  return Session(std::move(state));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const std::vector<TensorInfo>& Session::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& Session::outputs() const { return state_->outputs; }
const std::vector<OutputForm>& Session::output_forms() const { return state_->output_forms; }

std::span<std::byte> Session::input(std::size_t index) { return state_->input_memory.at(index); }
std::span<const std::byte> Session::output(std::size_t index) const { return state_->output_memory.at(index); }

Result<void> Session::run() { return state_->run(); }
bool Session::is_trying() const { return state_->is_trying(); }

const PlanInfo& Session::plan() const { return state_->info; }
const Graph::Metadata& Session::metadata() const { return state_->metadata; }

Result<void> Session::set_input(std::size_t index, const Tensor& logical) {
  if (index >= state_->inputs.size()) {
    return fail(ErrorCode::kUsage, format_text("input {} of a model with {}", index, state_->inputs.size()));
  }
  const TensorInfo& info = state_->inputs[index];
  if (logical.type() != info.type || logical.shape() != info.shape) {
    return fail(ErrorCode::kBadData,
                format_text("input \"{}\" is {}{}, got {}{}", info.name, to_string(info.type), to_string(info.shape),
                            to_string(logical.type()), to_string(logical.shape())));
  }
  const Layout layout = info.layout == TensorLayout::kNhwc ? Layout::kNhwc : Layout::kLogical;
  if (info.held) {
    std::vector<std::byte> levels(input(index).size());
    make_levels(logical.data<float>(), *info.held, levels);
    copy_layout(info.shape, 1, levels, Layout::kLogical, input(index), layout);
    return {};
  }
  copy_layout(info.shape, byte_size(info.type), logical.bytes(), Layout::kLogical, input(index), layout);
  return {};
}

Tensor Session::get_output(std::size_t index) const {
  const TensorInfo& info = state_->outputs.at(index);
  Tensor tensor(info.type, info.shape);
  std::ranges::copy(output(index), tensor.mutable_bytes().begin());
  return tensor;
}

}  // namespace kinglet::engine
