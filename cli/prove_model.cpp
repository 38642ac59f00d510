// SPDX-License-Identifier: Apache-2.0
#include "cli/prove_model.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "cli/adopt_model.h"
#include "engine/session/model.h"

namespace kinglet::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Seen {
  std::size_t classes = 0;
  bool labels_named = false;
  bool recipe_found = false;
  std::vector<std::string> data_files;
  std::string source;
};

std::string source_of(const engine::Graph::Metadata& metadata) {
  const auto found =
      std::ranges::find_if(metadata.properties, [](const auto& one) { return one.first == kSourceProperty; });
  return found == metadata.properties.end() ? std::string() : found->second;
}

Result<Seen> look_at(const ProveOptions& options) {
  KINGLET_TRY(give_up_rights(options.limits));
  try {
    const daemon::LineModel classifier = KINGLET_TRY(daemon::open_verified(options.model));
    const daemon::ModelFacts& facts = *classifier.facts();
    return Seen{.classes = facts.labels.size(),
                .labels_named = facts.labels_from_file,
                .recipe_found = facts.recipe_found,
                .data_files = KINGLET_TRY(engine::data_files_of(options.model.model)),
                .source = source_of(facts.metadata)};
  } catch (const std::bad_alloc&) {
    return too_much_memory(options.limits, options.model.model.string());
  }
}

Json verdict(const Result<Seen>& seen) {
  if (!seen) return refusal(seen.error());
  return {{"valid", true},
          {"classes", seen->classes},
          {"labels_named", seen->labels_named},
          {"recipe_found", seen->recipe_found},
          {"data_files", seen->data_files},
          {"source", seen->source}};
}

}  // namespace

void add_prove_options(CLI::App& app, ProveOptions& options) {
  app.add_option("MODEL", options.model.model, "a file")->required();
  app.add_option("--labels", options.model.labels, "in place of those beside the model");
  app.add_option("--recipe", options.model.recipe, "in place of that beside the model");
  app.add_option("--species", options.model.tables.species, "in place of the table beside the model");
  app.add_option("--names", options.model.tables.names, "common names");
  app.add_option("--scores", options.model.output, "the output that has them");
  app.add_option("--threads", options.model.threads, "of the run")->check(CLI::PositiveNumber);
  add_child_limits(app, options.limits);
}

Result<int> prove_model(const ProveOptions& options, Output& out) {
  out.print(verdict(look_at(options)).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return 0;
}

}  // namespace kinglet::cli
