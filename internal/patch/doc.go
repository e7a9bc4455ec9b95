// Package patch encodes a text against one that it is nearly the same as. A patch is a zstd frame whose dictionary is the
// text before, and whose content is the new text. Identifiers of dictionaries are not used.
package patch
