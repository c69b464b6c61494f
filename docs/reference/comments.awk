# The comments of a header as Doxygen wants them: // becomes ///, a comment after a member becomes ///<, and the comment
# at the top becomes that of the file. Lines stay where they are. Characters that are special to Doxygen are escaped,
# but not in code, which is indented by four.
function escaped(text) {
    if (text ~ /^     /) return text
    gsub(/[\\@#<>%"]/, "\\\\&", text)
    return text
}

/^\/\/ SPDX/ { print "/// \\file"; at_top = 1; next }
!/^\/\// { at_top = 0 }

/^ *\/\/ ---/ { print ""; behind = 0; next }

# A comment alone on its line: it continues a comment after a member that is above it in the same column.
/^ *\/\// {
    column = index($0, "//")
    text = escaped(substr($0, column + 2))
    print substr($0, 1, column - 1) (behind == column ? "///<" : "///") text
    if (behind != column) behind = 0
    next
}

# A comment after code.
/[^ ] +\/\/ / && !/^ *}/ && !/^ *#(endif|else)/ && !/"[^"]*\/\/[^"]*"/ {
    column = match($0, / \/\/ /) + 1
    print substr($0, 1, column - 1) "///<" escaped(substr($0, column + 2))
    behind = column
    next
}

{ behind = 0; print }
