import CampanileNotificationCenter
import Foundation

// expect-error: 'NotificationCenter' is ambiguous for type lookup in this context
func post(_ center: NotificationCenter) {}
