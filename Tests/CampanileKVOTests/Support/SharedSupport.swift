// What all test targets use, for all files of this one.
@_exported import TestSupport
