#pragma once
/// A matrix of numbers as a view shows it, to be written to a file.

#include <cstdint>
#include <string>
#include <vector>

namespace attn::app {

struct NumberTable {
    std::string row_axis;                                ///< "query"
    std::vector<std::string> row_texts, column_texts;    ///< the tokens of rows and columns; empty if indices stand for none
    bool rows_by_text = false, columns_by_text = false;  ///< the texts are names that need no index beside them
    std::int64_t rows = 0, columns = 0;
    std::vector<float> numbers;  ///< [rows,columns], NaN where there is none
};

}  // namespace attn::app
