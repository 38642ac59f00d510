// SPDX-License-Identifier: Apache-2.0
// Why: GET /api/v1/models/catalogue, POST /models/{name}/pull and PUT /models/{name}: models that come to this device.
#include "daemon/http/control/models.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"

namespace kinglet::daemon::http {
namespace {

std::expected<bool, Reply> activate_parameter(const Call& call) {
  const auto word = word_parameter(call, "activate", {"no", "yes"});
  if (!word) return std::unexpected(word.error());
  return *word == 1;
}

// Until it is known what a file of that name is, it is taken for the catalogue's.
bool is_here(const CatalogueEntry& entry, const KnownModel& model) {
  return model.file.name == entry.name && (model.state != KnownModel::State::kValid || is_of(entry, model.proof));
}

}  // namespace

Reply get_catalogue(const ModelsView& view, const Call& /*call*/) {
  const std::vector<KnownModel> models = view.keeper.list();
  Json items = Json::array();
  for (const CatalogueEntry& entry : view.keeper.catalogue()) {
    const auto here = std::ranges::find_if(models, [&](const KnownModel& one) { return is_here(entry, one); });
    Json item{{"name", entry.name},
              {"summary", entry.summary},
              {"birds", entry.birds},
              {"checked", entry.checked},
              {"size_bytes", entry.size_bytes},
              {"digest", "sha256:" + entry.sha256},
              {"licence", entry.licence},
              {"licence_address", entry.licence_address}};
    if (!entry.terms.empty()) item["terms"] = entry.terms;
    item["source"] = entry.source;
    item["addresses"] = entry.addresses;
    item["here"] = here != models.end();
    item["active"] = here != models.end() && here->active;
    items.push_back(std::move(item));
  }
  Json json{{"items", std::move(items)}, {"has_more", false}, {"can_be_kept", view.keeper.has_folder()}};
  // Whoever opens the page meanwhile sees how far it is.
  if (const std::optional<ModelJob> job = view.keeper.newest_job()) json["newest_job"] = job_json(*job);
  return json_reply(json.dump(), "no-store");
}

Reply post_pull(const ModelsView& view, const Call& call) {
  const auto activate = activate_parameter(call);
  if (!activate) return activate.error();
  const auto job = view.keeper.pull(call.path_parameter("name"), *activate);
  return job ? accepted_reply(*job) : refusal_reply(job.error());
}

Reply put_model(const ModelsView& view, const Call& call) {
  const auto activate = activate_parameter(call);
  if (!activate) return activate.error();
  if (!call.body_length || !call.read_body) {
    return problem("length-required", "the size of the file is not said", "send it with Content-Length");
  }
  auto upload = view.keeper.begin_upload(call.path_parameter("name"), *call.body_length, *activate);
  if (!upload) return refusal_reply(upload.error());
  Result<void> written;
  const Result<void> whole = call.read_body([&](std::string_view piece) {
    written = upload->write(piece);
    return written;
  });
  if (!written) return problem("storage-full", written.error().message, written.error().hint);
  if (!whole) return problem("bad-request", whole.error().message, whole.error().hint);
  const Result<ModelJob> job = upload->finish();
  if (!job) return problem("storage-full", job.error().message, job.error().hint);
  return accepted_reply(*job);
}

}  // namespace kinglet::daemon::http
