#pragma once
/// A document that cannot be computed as it is.

#include <string>

#include "app/session/document/field.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

/// The message says what is wrong and what would be right; `field` says which setting to change.
class DocumentError : public Error {
public:
    DocumentError(const std::string& message, Field field) : Error(message), field_(field) {}
    Field field() const { return field_; }

private:
    Field field_;
};

}  // namespace attn::app
