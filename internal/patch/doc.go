// Package patch encodes a text against one that it is nearly the same as: as a frame of zstd, whose dictionary is the text
// before and whose content is the new text (identifiers of dictionaries are not used), or as a splice, which is for texts
// that differ in a few short places.
package patch
