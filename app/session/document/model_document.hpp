#pragma once
/// A published model as a document.

#include <memory>

#include "app/session/document/document.hpp"

namespace attn::app {

/// A sentence with something to see in it, computed by the model with the masks that it was trained with.
Document document_of_model(std::shared_ptr<const OpenedModel> model);

}  // namespace attn::app
