// What both test targets use, for all files of this one.
@_exported import TestSupport
