#pragma once
/// Undo and redo over documents, which are small values.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "app/session/document.hpp"

namespace attn::app {

/// The current document, those before it and those undone.
class DocumentHistory {
public:
    /// Undo steps kept; the oldest go first.
    static constexpr std::size_t kMaxSteps = 500;

    explicit DocumentHistory(Document document);

    const std::shared_ptr<const Document>& current() const { return current_; }
    bool can_undo() const { return !undo_.empty(); }
    bool can_redo() const { return !redo_.empty(); }

    /// Makes `next` current. It joins the step before when both carry the same non-empty `merge` name; a step that ends where
    /// it began is no step. Returns false when nothing changed.
    bool change(Document next, const std::string& merge);
    /// Return false when there is nothing to undo or redo.
    bool undo();
    bool redo();

private:
    std::shared_ptr<const Document> current_;
    std::vector<std::shared_ptr<const Document>> undo_;  // oldest first
    std::vector<std::shared_ptr<const Document>> redo_;  // next one last
    std::string merge_;                                  // of the step that made current_
};

}  // namespace attn::app
