#pragma once
/// The error for a document that cannot be computed.

#include <string>

#include "app/session/document/field.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

/// The message says what is wrong and what would be valid; `field` names the setting to change.
class DocumentError : public Error {
public:
    DocumentError(const std::string& message, Field field) : Error(message), field_(field) {}
    Field field() const { return field_; }

private:
    Field field_;
};

}  // namespace attn::app
