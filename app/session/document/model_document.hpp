#pragma once
/// A document that shows a published model.

#include <memory>

#include "app/session/document/document.hpp"

namespace attn::app {

/// An example sentence in the model, with the masks it was trained with.
Document document_of_model(std::shared_ptr<const OpenedModel> model);

}  // namespace attn::app
