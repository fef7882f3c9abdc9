// For every file of the module, as each one's own import would be.
@_exported import CampanileNotificationCenter

// The tests beside this file are those of Foundation's center. In this module they mean the center
// that replaces it.
typealias NotificationCenter = CampanileNotificationCenter.NotificationCenter
