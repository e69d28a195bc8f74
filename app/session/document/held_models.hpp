#pragma once
/// The models that documents hold open: the current one its own and those of its pinned states, all others none.

#include <memory>
#include <vector>

#include "app/session/document/document.hpp"

namespace attn::app {

/// Those of the document and of its pinned states.
std::vector<ModelRef> models_of(const Document& document);

/// The same document with the mere identities of its models, but for those in `kept`.
std::shared_ptr<const Document> releasing_models(std::shared_ptr<const Document> document, const std::vector<ModelRef>& kept);

/// The same document holding its models, which are all among `opened`, or happen to be open.
std::shared_ptr<const Document> holding_models(std::shared_ptr<const Document> document, const std::vector<ModelRef>& opened);

}  // namespace attn::app
